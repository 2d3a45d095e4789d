//! ChampSim's traces: 64 bytes for each instruction, little-endian (`input_instr` of its `inc/trace_instruction.h`).
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 7 | the instruction's address |
//! | 8, 9 | 1 for a branch; 1 for one that is taken |
//! | 10, 11 | registers that it writes |
//! | 12 to 15 | registers that it reads |
//! | 16 to 31 | two addresses that it stores to; 0 for none |
//! | 32 to 63 | four addresses that it loads from; 0 for none |
//!
//! An instruction loads before it stores. An access touches only the line of its address: there are no sizes.

use super::first_level::FirstLevel;
use super::records::{self, Records};
use super::{Kind, Miss, TraceError};
use crate::units::{LINE_BYTES, Line};
use std::io::BufRead;

/// Bytes of a record.
const RECORD: usize = 64;

/// The flags, and the first of the addresses.
const FLAGS: std::ops::Range<usize> = 8..10;
const STORES: std::ops::Range<usize> = 16..32;
const LOADS: std::ops::Range<usize> = 32..64;

/// The advice for a record that is wrong.
const ADVICE: &str = "copy the trace again, or give the right format by --trace-format";

/// Reads a trace, and lets its accesses through a first-level cache.
///
/// # Errors
/// [`TraceError::Record`] for a record that is cut off or has flags that are neither 0 nor 1; [`TraceError::Io`].
pub(super) fn read(from: impl BufRead) -> impl Iterator<Item = Result<Miss, TraceError>> {
    let mut records = Records::new(from, "ChampSim");
    let (mut bytes, mut cache) = (Vec::with_capacity(RECORD), FirstLevel::new());
    records::misses(move |into| {
        records.begin();
        records.bytes(RECORD as u64, &mut bytes)?;
        match bytes.len() {
            0 => return Ok(false),
            RECORD => {}
            count => return Err(records.fault(format!("it has {count} bytes in place of 64: {ADVICE}"))),
        }
        if let Some(flag) = bytes[FLAGS].iter().find(|flag| **flag > 1) {
            return Err(records.fault(format!("a flag of its branch is {flag}, neither 0 nor 1: {ADVICE}")));
        }
        let loads = addresses(&bytes[LOADS]).map(|line| (Kind::Load, line));
        let stores = addresses(&bytes[STORES]).map(|line| (Kind::Store, line));
        cache.instruction(loads.chain(stores), into);
        Ok(true)
    })
}

/// The lines of addresses that are not 0.
fn addresses(bytes: &[u8]) -> impl Iterator<Item = Line> {
    let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    words.filter(|address| *address != 0).map(|address| Line(address / LINE_BYTES))
}

/// Returns whether the first bytes of a file are ChampSim's records. In these, the flags are 0 or 1, an instruction
/// that is not a branch is not taken, and each instruction has an address.
pub(super) fn can_begin_with(first: &[u8]) -> bool {
    let (records, _) = first.as_chunks::<RECORD>();
    let is_record =
        |record: &[u8; RECORD]| record[..8] != [0; 8] && record[FLAGS].iter().all(|flag| *flag <= 1);
    !records.is_empty() && records.iter().all(is_record)
}
