//! The tests of slots. For any requests, each slot is uniform among the unread ones of its bucket. It is independent of
//! the slots of the other buckets of its access, of the slots chosen before it, and of leaves.

use super::leaves::enough;
use super::observer::Pick;
use super::run_sets::{ObservedRun, RunSet};
use super::statistics::{Finding, tally, uniform, uniform_rows};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

const CELLS: usize = 16;
/// The cells of one of two numbers that are counted together.
const PAIR_CELLS: usize = 8;

/// Tests the slots of one side; `leaves` is the number of leaves of the tree.
pub(super) fn test(run_set: &RunSet, leaves: u64, findings: &mut Vec<Finding>) {
    let name = |what: &str| format!("{}: {what}", run_set.name);
    for (what, counts) in alone(run_set).into_iter().chain(jointly(run_set)) {
        findings.extend(enough(&counts).then(|| uniform(name(&what), &counts)));
    }
    if leaves >= PAIR_CELLS as u64 {
        for (what, rows) in against_leaves(run_set, leaves) {
            let draws = rows.iter().flatten().sum::<u64>();
            let is_enough = draws >= 10 * (PAIR_CELLS * PAIR_CELLS) as u64;
            findings.extend(is_enough.then(|| uniform_rows(name(what), &rows)));
        }
    }
}

/// The cell of a number from 0 to 1.
fn cell(value: f64, cells: usize) -> usize {
    ((value * cells as f64) as usize).min(cells - 1)
}

/// The step from one number to another, around the circle: steps of uniform numbers are uniform.
fn step(from: f64, to: f64) -> f64 {
    if to < from { to - from + 1.0 } else { to - from }
}

/// Counts the steps of these pairs of numbers.
pub(super) fn steps_between(pairs: impl Iterator<Item = (f64, f64)>) -> Vec<u64> {
    tally(CELLS, pairs.map(|(from, to)| cell(step(from, to), CELLS)))
}

/// Counts of slots by what they were read for, by level, and by the slot before in the same bucket.
fn alone(run_set: &RunSet) -> Vec<(String, Vec<u64>)> {
    let mut reasons: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut levels: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut steps = vec![0; CELLS];
    for run in &run_set.runs {
        for pick in &run.observations.picks {
            let reason = pick.access.map_or("evictions", |access| run.kinds[access]);
            reasons.entry(reason).or_insert_with(|| vec![0; CELLS])[cell(pick.value, CELLS)] += 1;
            levels.entry(pick.level).or_insert_with(|| vec![0; CELLS])[cell(pick.value, CELLS)] += 1;
            if let Some(before) = pick.before {
                steps[cell(step(before, pick.value), CELLS)] += 1;
            }
        }
    }
    let reasons = reasons.into_iter().map(|(reason, counts)| (format!("slots of {reason}"), counts));
    let levels = levels.into_iter().map(|(level, counts)| (format!("slots of level {level}"), counts));
    reasons.chain(levels).chain([(String::from("steps between slots of one bucket"), steps)]).collect()
}

/// The counts of slots together with another slot. This is another slot of the same access or eviction. Or it is the
/// previous access's slot on the same level, or the slot in the block's previous access.
fn jointly(run_set: &RunSet) -> Vec<(String, Vec<u64>)> {
    let mut counted = Vec::new();
    for (whose, is_access) in [("access", true), ("eviction", false)] {
        let groups: Vec<&[Pick]> = run_set
            .runs
            .iter()
            .flat_map(|run| groups(&run.observations.picks))
            .filter(|group| group.iter().any(|pick| pick.access.is_some()) == is_access)
            .collect();
        for lag in [1, 2] {
            let pairs = groups.iter().flat_map(|group| group.iter().zip(group.iter().skip(lag)));
            let steps = steps_between(pairs.map(|(one, other)| (one.value, other.value)));
            counted.push((format!("steps between slots of one {whose}, {lag} apart"), steps));
        }
        let pairs = groups.iter().flat_map(|group| group.chunks_exact(2));
        let cells =
            pairs.map(|pair| cell(pair[0].value, PAIR_CELLS) * PAIR_CELLS + cell(pair[1].value, PAIR_CELLS));
        counted.push((format!("pairs of slots of one {whose}"), tally(PAIR_CELLS * PAIR_CELLS, cells)));
    }
    let (mut successive, mut of_block) = (vec![0; CELLS], vec![0; CELLS]);
    for run in &run_set.runs {
        let (mut last, mut last_of_block) = (BTreeMap::new(), BTreeMap::new());
        for pick in &run.observations.picks {
            let Some(access) = pick.access else { continue };
            let count = |before: Option<f64>, steps: &mut Vec<u64>| {
                let step = before.map(|before| cell(step(before, pick.value), CELLS));
                step.into_iter().for_each(|step| steps[step] += 1);
            };
            count(last.insert(pick.level, pick.value), &mut successive);
            if let Some(block) = run.requested[access] {
                count(last_of_block.insert((block, pick.level), pick.value), &mut of_block);
            }
        }
    }
    counted.push((String::from("steps between slots of successive accesses"), successive));
    counted.push((String::from("steps between slots of one block"), of_block));
    counted
}

/// The choices of each access and of each eviction: a path is read downwards.
fn groups(picks: &[Pick]) -> impl Iterator<Item = &[Pick]> {
    picks.chunk_by(|one, other| one.access == other.access && one.level < other.level)
}

/// Counts of slots against leaves, coarsely: two tables for the leaf of the same access, and two for that of the
/// block's next one. The rows go by the leaf's highest bits, which say where the path begins, and by its lowest. The
/// slots are still uniform and independent, given all leaves.
fn against_leaves(run_set: &RunSet, leaves: u64) -> [(&'static str, Vec<Vec<u64>>); 4] {
    let mut rows = [
        ("slots against the access's leaf, by its high bits", vec![vec![0; PAIR_CELLS]; PAIR_CELLS]),
        ("slots against the access's leaf, by its low bits", vec![vec![0; PAIR_CELLS]; PAIR_CELLS]),
        ("slots against the block's next leaf, by its high bits", vec![vec![0; PAIR_CELLS]; PAIR_CELLS]),
        ("slots against the block's next leaf, by its low bits", vec![vec![0; PAIR_CELLS]; PAIR_CELLS]),
    ];
    for run in &run_set.runs {
        let (shown, next) = (run.leaf_of_access(), next_leaves(run));
        for pick in &run.observations.picks {
            let Some(access) = pick.access else { continue };
            for (nth, leaf) in [shown[access], next[access]].into_iter().enumerate() {
                let Some(leaf) = leaf else { continue };
                let column = cell(pick.value, PAIR_CELLS);
                rows[2 * nth].1[(leaf / (leaves / PAIR_CELLS as u64)) as usize][column] += 1;
                rows[2 * nth + 1].1[leaf as usize % PAIR_CELLS][column] += 1;
            }
        }
    }
    rows
}

/// The leaf that each access's block shows when it is requested next.
fn next_leaves(run: &ObservedRun) -> Vec<Option<u64>> {
    let shown = run.leaf_of_access();
    let mut next = vec![None; shown.len()];
    let mut later: BTreeMap<u64, Option<u64>> = BTreeMap::new();
    for access in (0..shown.len()).rev() {
        if let Some(block) = run.requested[access] {
            next[access] = later.insert(block, shown[access]).flatten();
        }
    }
    next
}
