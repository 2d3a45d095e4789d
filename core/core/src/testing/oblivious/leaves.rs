//! The tests of leaves: each is uniform, for any requests, and independent of those before it, of the whole run and
//! of the block.
//!
//! On a large tree a path hardly ever comes again by chance: there, repeats say most. So the leaf of an access is
//! compared with the leaves shown just before it, and with those of the block's own accesses. A path that comes again
//! after more than [`WINDOW`] others is missed, unless it makes the leaves uneven.

use super::run_sets::RunSet;
use super::statistics::{Finding, not_too_many, tally, uniform};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

/// The leaves are counted in at most this many cells.
const MAX_CELLS: u64 = 32;
const PAIR_CELLS: u64 = 8;

/// The maximum number of earlier leaves that a leaf is compared with.
pub const WINDOW: usize = 16;

pub(super) fn cells_of(leaves: u64) -> usize {
    leaves.min(MAX_CELLS) as usize
}

/// Returns whether the draws are enough to say anything: ten a cell. Their number does not depend on what they are.
pub(super) fn enough(counts: &[u64]) -> bool {
    counts.iter().sum::<u64>() >= 10 * counts.len() as u64
}

/// The number of the subtree that contains this leaf, if the tree is cut into [`cells_of`] subtrees.
pub(super) fn cell(leaf: u64, leaves: u64) -> usize {
    (leaf / (leaves / leaves.min(MAX_CELLS))) as usize
}

/// Tests the leaves of one side over a tree of this many.
pub(super) fn test(run_set: &RunSet, leaves: u64, findings: &mut Vec<Finding>) {
    let cells = cells_of(leaves);
    let mut test = |what: &str, counts: &[u64]| {
        findings.extend(enough(counts).then(|| uniform(format!("{}: {what}", run_set.name), counts)));
    };
    // The kind of an access must not matter.
    let mut by_kind: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for run in &run_set.runs {
        for shown in &run.observations.leaves {
            let kinds = shown.access.map(|access| run.kinds[access]);
            for kind in kinds.into_iter().chain(["all"]) {
                let counts = by_kind.entry(kind).or_insert_with(|| alloc::vec![0; cells]);
                counts[cell(shown.leaf, leaves)] += 1;
            }
        }
    }
    for (kind, counts) in &by_kind {
        test(&format!("leaves of {kind}"), counts);
    }

    let serial: Vec<Vec<u64>> = run_set
        .runs
        .iter()
        .map(|run| run.observations.leaves.iter().map(|shown| shown.leaf).collect())
        .collect();
    let steps = |chains: &[Vec<u64>], lag: usize| {
        // The differences (bit by bit) along a chain of independent uniform leaves are independent and uniform too.
        let steps = chains.iter().flat_map(|chain| chain.iter().zip(&chain[lag.min(chain.len())..]));
        tally(cells, steps.map(|(one, other)| cell(one ^ other, leaves)))
    };
    test("steps between leaves 1 apart", &steps(&serial, 1));
    test("steps between leaves 2 apart", &steps(&serial, 2));
    test("pairs of leaves", &pair_counts(&serial, leaves));
    // The leaf of a block's next access against that of the one before it. The steps of all blocks' chains are
    // independent; of the pairs, only those are that have no leaf in common.
    let chains = chains(run_set);
    test("steps between leaves of one block", &steps(&chains, 1));
    test("pairs of leaves of one block", &pair_counts(&chains, leaves));

    for (whose, chains) in [("", &serial), ("block's ", &chains)] {
        findings.push(repeats(
            format!("{}: repeats of the {whose}last leaf", run_set.name),
            chains,
            1,
            leaves,
        ));
        if leaves > 4 * WINDOW as u64 {
            let name = format!("{}: repeats of the {whose}last {WINDOW} leaves", run_set.name);
            findings.push(repeats(name, chains, WINDOW, leaves));
        }
    }
}

/// Tests how often a leaf is among the `window` leaves before it in its chain. Whatever those are, a leaf is one of
/// them with a probability of at most their number over that of all leaves.
fn repeats(name: alloc::string::String, chains: &[Vec<u64>], window: usize, leaves: u64) -> Finding {
    let (mut n, mut mean, mut observed) = (0, 0.0, 0);
    for chain in chains {
        for (at, leaf) in chain.iter().enumerate().skip(1) {
            let before = &chain[at.saturating_sub(window)..at];
            n += 1;
            mean += before.len() as f64 / leaves as f64;
            observed += u64::from(before.contains(leaf));
        }
    }
    not_too_many(name, n, mean, observed)
}

/// The leaves of each block of each run, in the order of its accesses.
fn chains(run_set: &RunSet) -> Vec<Vec<u64>> {
    let mut chains = Vec::new();
    for run in &run_set.runs {
        let mut of_block: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for shown in &run.observations.leaves {
            if let Some(block) = shown.access.and_then(|access| run.requested[access]) {
                of_block.entry(block).or_default().push(shown.leaf);
            }
        }
        chains.extend(of_block.into_values());
    }
    chains
}

/// Counts pairs of neighbours in a chain that have no leaf in common.
fn pair_counts(chains: &[Vec<u64>], leaves: u64) -> Vec<u64> {
    let run_set = leaves.min(PAIR_CELLS);
    let coarse = |leaf: u64| leaf / (leaves / run_set);
    let pairs = chains.iter().flat_map(|chain| chain.chunks_exact(2));
    tally(
        (run_set * run_set) as usize,
        pairs.map(|pair| (coarse(pair[0]) * run_set + coarse(pair[1])) as usize),
    )
}
