//! The observed changes of a program, fault by fault.

use ameles_pager::watch::{FaultCounts, Geometry};
use std::fmt::Write;

/// The changes at one fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct Observation {
    /// The number of faults and evictions so far, including this fault.
    pub(in crate::commands) moment: FaultCounts,
    /// The slots that changed since the previous fault, in ascending order.
    pub(in crate::commands) changed: Vec<u64>,
}

/// All observations, in order.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Observations {
    pub(in crate::commands) geometry: Geometry,
    pub(in crate::commands) list: Vec<Observation>,
}

impl Observations {
    pub(in crate::commands) fn faults(&self) -> u64 {
        self.list.len() as u64
    }

    pub(in crate::commands) fn evictions(&self) -> u64 {
        self.list.last().map_or(0, |observation| observation.moment.evictions)
    }

    /// Returns the number of changes of slots.
    pub(in crate::commands) fn changed(&self) -> usize {
        self.list.iter().map(|observation| observation.changed.len()).sum()
    }

    /// Returns the maximum number of changes at one fault.
    pub(in crate::commands) fn max_changed(&self) -> usize {
        self.list.iter().map(|observation| observation.changed.len()).max().unwrap_or(0)
    }

    /// Returns the highest slot that changed.
    pub(in crate::commands) fn highest(&self) -> u64 {
        self.list.iter().filter_map(|observation| observation.changed.last()).copied().max().unwrap_or(0)
    }

    /// Describes the slots of the memory.
    pub(in crate::commands) fn slots(&self) -> String {
        match self.geometry.areas {
            Some((main, holding)) => format!("{main} main and {holding} holding slots"),
            None => format!("{} slots", self.geometry.slots),
        }
    }

    /// Describes the figures in a sentence, with the number of all faults if not all were watched.
    pub(in crate::commands) fn figures(&self, all: Option<u64>) -> String {
        let all = all.filter(|all| *all > self.faults()).map_or(String::new(), |all| format!(" of {all}"));
        format!(
            "watched {}{all} faults with {} evictions: {} slots changed, {:.1} per fault, at most {}",
            self.faults(),
            self.evictions(),
            self.changed(),
            self.changed() as f64 / self.faults().max(1) as f64,
            self.max_changed()
        )
    }

    /// Returns a line for each change, after a line of headings.
    pub(in crate::commands) fn csv(&self) -> String {
        let mut lines = String::from("fault,slot\n");
        for Observation { moment, changed } in &self.list {
            for slot in changed {
                // Writing to a string cannot fail.
                let _ = writeln!(lines, "{},{slot}", moment.faults);
            }
        }
        lines
    }
}
