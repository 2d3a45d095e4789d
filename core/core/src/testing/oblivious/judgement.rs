//! The findings of a judge.

use super::statistics::{ALARM_LOG2, Finding};
use alloc::vec::Vec;
use core::fmt;

/// The maximum number of tests of sound schemes in a whole suite: `2^14 * 2^-33 = 2^-19`.
pub const MAX_TESTS: usize = 1 << 14;

/// The findings of the judge.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// All tests, in order.
    pub findings: Vec<Finding>,
}

impl Judgement {
    /// The findings that no sound scheme shows.
    pub fn alarms(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.log2_p < ALARM_LOG2)
    }

    /// Returns whether there was no alarm.
    pub fn passes(&self) -> bool {
        self.alarms().next().is_none()
    }

    /// Returns whether a test whose name contains this has alarmed.
    pub fn alarmed(&self, name: &str) -> bool {
        self.alarms().any(|finding| finding.name.contains(name))
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&Finding> = self.findings.iter().collect();
        sorted.sort_by(|one, other| one.log2_p.total_cmp(&other.log2_p));
        writeln!(f, "{} tests, {} alarms", sorted.len(), self.alarms().count())?;
        sorted.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}
