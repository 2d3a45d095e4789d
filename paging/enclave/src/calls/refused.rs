//! The calls that were refused.

use alloc::format;
use alloc::vec::Vec;
use ameles_enclave_boundary::exit::Refused;

/// The maximum number of different calls that are recorded. A program may use any number for a call, and there are more
/// numbers than Linux has calls.
const MAX: usize = 512;

/// The refused calls, each with its number, its name and its count.
#[derive(Debug, Default)]
pub(crate) struct RefusedCalls {
    calls: Vec<(u64, Option<&'static str>, u64)>,
}

impl RefusedCalls {
    /// Records another refused call.
    pub(crate) fn note(&mut self, number: u64, name: Option<&'static str>) {
        match self.calls.iter().position(|(other, ..)| *other == number) {
            Some(place) => self.calls[place].2 += 1,
            None if self.calls.len() < MAX => self.calls.push((number, name, 1)),
            None => {}
        }
    }

    /// Returns all refused calls.
    pub(crate) fn named(&self) -> Vec<Refused> {
        let named = |(number, name, times): &(u64, Option<&str>, u64)| Refused {
            name: name.map_or_else(|| format!("system call {number}"), Into::into),
            number: *number,
            times: *times,
        };
        self.calls.iter().map(named).collect()
    }
}
