//! The changes that were seen of a program, fault by fault.

use ameles_pager::watch::{FaultCounts, Geometry};
use std::fmt::Write;

/// The changes that one look has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct Observation {
    /// The moment: after this fault.
    pub(in crate::commands) moment: FaultCounts,
    /// Slots that had changed since the fault before, from the lowest to the highest.
    pub(in crate::commands) changed: Vec<u64>,
}

/// All looks, in their order.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Observations {
    pub(in crate::commands) geometry: Geometry,
    pub(in crate::commands) sights: Vec<Observation>,
}

impl Observations {
    pub(in crate::commands) fn faults(&self) -> u64 {
        self.sights.len() as u64
    }

    pub(in crate::commands) fn evictions(&self) -> u64 {
        self.sights.last().map_or(0, |sight| sight.moment.evictions)
    }

    /// Slots that were seen to change, each as often as it did.
    pub(in crate::commands) fn changed(&self) -> usize {
        self.sights.iter().map(|sight| sight.changed.len()).sum()
    }

    /// The most that changed at one fault.
    pub(in crate::commands) fn max_changed(&self) -> usize {
        self.sights.iter().map(|sight| sight.changed.len()).max().unwrap_or(0)
    }

    /// The highest slot that changed.
    pub(in crate::commands) fn highest(&self) -> u64 {
        self.sights.iter().filter_map(|sight| sight.changed.last()).copied().max().unwrap_or(0)
    }

    /// The slots there are, in words.
    pub(in crate::commands) fn slots(&self) -> String {
        match self.geometry.areas {
            Some((main, holding)) => format!("{main} main and {holding} holding slots"),
            None => format!("{} slots", self.geometry.slots),
        }
    }

    /// The figures in a sentence, beside the program's faults if there were more than were watched.
    pub(in crate::commands) fn figures(&self, all: Option<u64>) -> String {
        let all = all.filter(|all| *all > self.faults()).map_or(String::new(), |all| format!(" of {all}"));
        format!(
            "watched {}{all} faults with {} evictions: {} slots changed, {:.1} a fault, at most {}",
            self.faults(),
            self.evictions(),
            self.changed(),
            self.changed() as f64 / self.faults().max(1) as f64,
            self.max_changed()
        )
    }

    /// A line for each slot that changed, after a line of headings.
    pub(in crate::commands) fn csv(&self) -> String {
        let mut lines = String::from("fault,slot\n");
        for Observation { moment, changed } in &self.sights {
            for slot in changed {
                // Writing to a string cannot fail.
                let _ = writeln!(lines, "{},{slot}", moment.faults);
            }
        }
        lines
    }
}
