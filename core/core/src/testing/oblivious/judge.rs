//! The judgement over two sets of runs.

use super::judgement::Judgement;
use super::leaves::{self, cell, cells_of};
use super::observer::Observer;
use super::pool::Pool;
use super::run_sets::{ObservedRun, RunSet, Trial};
use super::slots;
use super::statistics::{ALARM_LOG2, certain, fair_signs, homogeneous, tally};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Judges two sets of runs of one scheme over a tree of `leaves` leaves (1 if it has none). `observer` makes the
/// observer for the nth run.
pub fn judge(
    leaves: u64,
    observer: impl Fn(u64) -> Box<dyn Observer>,
    one: &[Trial],
    other: &[Trial],
) -> Judgement {
    judge_run_sets(leaves, &look(observer, one, other))
}

/// Does the same as `judge`, and adds the draws of both sides to a pool, under the names of their sequences.
pub fn judge_and_pool(
    pool: &mut Pool,
    sequences: [&str; 2],
    leaves: u64,
    observer: impl Fn(u64) -> Box<dyn Observer>,
    [one, other]: [&[Trial]; 2],
) -> Judgement {
    let run_sets = look(observer, one, other);
    sequences.iter().zip(&run_sets).for_each(|(sequence, run_set)| pool.add(sequence, run_set));
    judge_run_sets(leaves, &run_sets)
}

fn look(observer: impl Fn(u64) -> Box<dyn Observer>, one: &[Trial], other: &[Trial]) -> [RunSet; 2] {
    [RunSet::look("one", &observer, one, 0), RunSet::look("other", &observer, other, 1 << 32)]
}

fn judge_run_sets(leaves: u64, [one, other]: &[RunSet; 2]) -> Judgement {
    let mut findings = Vec::new();
    for run_set in [one, other] {
        findings.push(certain(format!("{}: shape", run_set.name), run_set.deviation.clone()));
    }
    if findings.iter().any(|shape| shape.log2_p < ALARM_LOG2) {
        return Judgement { findings };
    }
    for run_set in [one, other] {
        if leaves > 1 {
            leaves::test(run_set, leaves, &mut findings);
        }
        slots::test(run_set, leaves, &mut findings);
    }
    if leaves > 1 {
        let cells =
            |run_set: &RunSet| tally(cells_of(leaves), run_set.leaves().map(|leaf| cell(leaf, leaves)));
        findings.push(homogeneous(
            "both: leaves of one distribution".to_string(),
            &cells(one),
            &cells(other),
        ));
    }
    let totals: BTreeSet<&'static str> =
        one.runs.iter().chain(&other.runs).flat_map(|run| run.observations.totals.keys().copied()).collect();
    for total in totals {
        let of = |run: &ObservedRun| run.observations.totals.get(total).copied().unwrap_or(0) as f64;
        let pairs = one.runs.iter().zip(&other.runs).map(|(one, other)| (of(one), of(other)));
        findings.push(fair_signs(format!("both: as many {total}"), pairs));
    }
    Judgement { findings }
}
