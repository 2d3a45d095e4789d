//! Judging two ORAMs that run side by side: the choices of one must be independent of those of the other.

use super::judgement::Judgement;
use super::leaves::{WINDOW, cell, cells_of};
use super::observer::{Observations, Observer};
use super::run_sets::{RunSet, Trial};
use super::slots::steps_between;
use super::statistics::{not_too_many, tally, uniform};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Judges pairs of runs, the nth of `one` with the nth of `other`. They have the same batch sizes and trees of `leaves`
/// leaves. `observer` makes the observer for the nth run. [`judge`](super::judge()) judges each run by itself; this
/// function compares the two runs of a pair.
pub fn judge_side_by_side(
    leaves: u64,
    observer: impl Fn(u64) -> Box<dyn Observer>,
    one: &[Trial],
    other: &[Trial],
) -> Judgement {
    let (run_sets, mut judgement) = RunSet::look_at_both(observer, one, other);
    if !judgement.passes() {
        return judgement;
    }
    let pairs: Vec<(&Observations, &Observations)> = run_sets[0]
        .runs
        .iter()
        .zip(&run_sets[1].runs)
        .map(|(one, other)| (&one.observations, &other.observations))
        .collect();
    let steps = pairs.iter().flat_map(|(one, other)| {
        one.leaves.iter().zip(&other.leaves).map(|(one, other)| cell(one.leaf ^ other.leaf, leaves))
    });
    let name = String::from("both: steps between leaves side by side");
    judgement.findings.push(uniform(name, &tally(cells_of(leaves), steps)));
    let picks = pairs.iter().flat_map(|(one, other)| one.picks.iter().zip(&other.picks));
    let steps = steps_between(picks.map(|(one, other)| (one.value, other.value)));
    judgement.findings.push(uniform(String::from("both: steps between slots side by side"), &steps));

    let (mut n, mut mean, mut observed) = (0, 0.0, 0);
    for (one, other) in pairs {
        for (at, shown) in one.leaves.iter().enumerate() {
            let end = (at + 1).min(other.leaves.len());
            let recent = &other.leaves[end.saturating_sub(WINDOW)..end];
            n += 1;
            mean += recent.len() as f64 / leaves as f64;
            observed += u64::from(recent.iter().any(|other| other.leaf == shown.leaf));
        }
    }
    let name = format!("both: repeats of the other's last {WINDOW} leaves");
    judgement.findings.push(not_too_many(name, n, mean, observed));
    judgement
}
