//! The judgement over two sets of runs.

use super::judgement::Judgement;
use super::leaves::{self, cell, cells_of};
use super::pool::Pool;
use super::sides::{Seen, Side, Trial};
use super::slots;
use super::statistics::{ALARM_LOG2, certain, fair_signs, homogeneous, tally};
use super::watch::Watch;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Judges two sets of runs of one scheme over a tree of `leaves` leaves (1 if it has none); `watch` gives a new watch
/// for the run of a number.
pub fn judge(
    leaves: u64,
    watch: impl Fn(u64) -> Box<dyn Watch>,
    one: &[Trial],
    other: &[Trial],
) -> Judgement {
    judge_sides(leaves, &look(watch, one, other))
}

/// The same, and adds the draws of both sides to a pool, under the names of their sequences.
pub fn judge_and_pool(
    pool: &mut Pool,
    sequences: [&str; 2],
    leaves: u64,
    watch: impl Fn(u64) -> Box<dyn Watch>,
    [one, other]: [&[Trial]; 2],
) -> Judgement {
    let sides = look(watch, one, other);
    sequences.iter().zip(&sides).for_each(|(sequence, side)| pool.add(sequence, side));
    judge_sides(leaves, &sides)
}

fn look(watch: impl Fn(u64) -> Box<dyn Watch>, one: &[Trial], other: &[Trial]) -> [Side; 2] {
    [Side::look("one", &watch, one, 0), Side::look("other", &watch, other, 1 << 32)]
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
