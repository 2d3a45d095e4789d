//! The judgement over two sets of runs.

use super::leaves::{self, cell, cells_of};
use super::pool::Pool;
use super::sides::{Seen, Side, Trial};
use super::slots;
use super::statistics::{ALARM_LOG2, Finding, certain, fair_signs, homogeneous, tally};
use super::watch::Watch;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

/// The most tests of sound schemes in a whole suite: `2^14 * 2^-33 = 2^-19`.
pub const MOST_TESTS: usize = 1 << 14;

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

    /// Tells whether there was no alarm.
    pub fn passes(&self) -> bool {
        self.alarms().next().is_none()
    }

    /// Tells whether a test whose name contains this has alarmed.
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

/// Judges two sets of runs of one scheme over a tree of `leaves` leaves (1 if it has none); `watch` gives a new watch
/// for the run of a number.
pub fn judge(
    leaves: u64,
    watch: impl Fn(u64) -> Box<dyn Watch>,
    one: &[Trial],
    other: &[Trial],
) -> Judgement {
    let sides = [Side::look("one", &watch, one, 0), Side::look("other", &watch, other, 1 << 32)];
    judge_sides(leaves, &sides)
}

/// The same, and adds the draws of both sides to a pool, under the names of their sequences.
pub fn judge_and_pool(
    pool: &mut Pool,
    sequences: [&str; 2],
    leaves: u64,
    watch: impl Fn(u64) -> Box<dyn Watch>,
    [one, other]: [&[Trial]; 2],
) -> Judgement {
    let sides = [Side::look("one", &watch, one, 0), Side::look("other", &watch, other, 1 << 32)];
    sequences.iter().zip(&sides).for_each(|(sequence, side)| pool.add(sequence, side));
    judge_sides(leaves, &sides)
}

fn judge_sides(leaves: u64, [one, other]: &[Side; 2]) -> Judgement {
    let mut findings = Vec::new();
    for side in [one, other] {
        findings.push(certain(format!("{}: shape", side.name), side.deviation.clone()));
    }
    if findings.iter().any(|shape| shape.log2_p < ALARM_LOG2) {
        return Judgement { findings };
    }
    for side in [one, other] {
        if leaves > 1 {
            leaves::test(side, leaves, &mut findings);
        }
        slots::test(side, leaves, &mut findings);
    }
    if leaves > 1 {
        let cells = |side: &Side| tally(cells_of(leaves), side.leaves().map(|leaf| cell(leaf, leaves)));
        findings.push(homogeneous("both: leaves of one law".to_string(), &cells(one), &cells(other)));
    }
    let totals: BTreeSet<&'static str> =
        one.runs.iter().chain(&other.runs).flat_map(|run| run.sights.totals.keys().copied()).collect();
    for total in totals {
        let of = |run: &Seen| run.sights.totals.get(total).copied().unwrap_or(0) as f64;
        let pairs = one.runs.iter().zip(&other.runs).map(|(one, other)| (of(one), of(other)));
        findings.push(fair_signs(format!("both: as many {total}"), pairs));
    }
    Judgement { findings }
}
