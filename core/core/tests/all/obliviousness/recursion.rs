//! A Path ORAM whose position map is in smaller ORAMs: each tree is judged by itself.

use super::schemes::path_parameters;
use super::setup::*;
use ameles_core::position_map::recursive::{RecursiveParameters, RecursivePositionMap};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::testing::oblivious::{Adversary, Sequence, Trial, judge, path};
use ameles_core::testing::{Operation, TraceStore};
use ameles_core::types::{BlockId, Bucket};

const ENTRIES: u32 = 2;

fn map() -> RecursiveParameters {
    RecursiveParameters {
        blocks: path_parameters().capacity,
        entries_per_block: ENTRIES,
        flat_limit: 16,
        trusted_blocks: 0,
        max_batch: MAX_BATCH,
    }
}

/// The data's tree, then those of the position map, the largest first.
fn trees() -> Vec<PathParameters> {
    core::iter::once(path_parameters()).chain(map().levels().expect("valid parameters")).collect()
}

/// The same runs, as seen from the ORAM `level` steps inwards: its blocks hold the positions of several.
fn inwards(trials: &[Trial], level: usize) -> Vec<Trial> {
    let blocks = u64::from(ENTRIES).pow(level as u32);
    let inner = |operation: &Operation| match *operation {
        Operation::Read(block) => Operation::Read(BlockId(block.0 / blocks)),
        Operation::Write(block, seed) => Operation::Write(BlockId(block.0 / blocks), seed),
        Operation::Dummy => Operation::Dummy,
    };
    let script =
        |trial: &Trial| trial.operations.iter().map(|batch| batch.iter().map(inner).collect()).collect();
    trials.iter().map(|trial| Trial { operations: script(trial), events: trial.events.clone() }).collect()
}

#[test]
fn every_tree_of_a_recursion_shows_nothing_of_what_was_asked() {
    let (parameters, trees) = (path_parameters(), trees());
    assert_eq!(trees.iter().map(|tree| tree.capacity).collect::<Vec<_>>(), [64, 32, 16]);
    let run: Run<'_> = &|seed, script, pace| {
        let mut layout = parameters.layout();
        let first = layout.append(&map().layout().expect("valid parameters"));
        let store = TraceStore::new(layout);
        let mut random = rng(seed);
        let positions =
            RecursivePositionMap::new(&map(), first, &store, &mut random).expect("valid parameters");
        let oram = PathOram::new(parameters.clone(), Bucket(0), &store, positions, random).expect("valid");
        drive(&oram, &store, script, pace, current_work())
    };
    let pairs = [
        (Sequence::OneBlock, Sequence::Sweep),
        (Sequence::Dummies, Sequence::Random),
        (Sequence::NeverWritten, Sequence::TwoBlocks),
    ];
    for (pace_kind, pair) in [PaceKind::Prompt, PaceKind::Late].into_iter().zip([&pairs[..1], &pairs[1..]]) {
        for (one, other) in pair.iter().copied() {
            let trials = |sequence, side| {
                trials(
                    MANY_RUNS,
                    (parameters.capacity / 2, parameters.capacity),
                    MAX_BATCH,
                    sequence,
                    pace_kind,
                    side,
                    run,
                )
            };
            let (one_trials, other_trials) = (trials(one, 1), trials(other, 2));
            for (level, tree) in trees.iter().enumerate() {
                for adversary in [Adversary::Full, Adversary::Snapshot] {
                    let judgement = judge(
                        1 << tree.leaf_level.0,
                        |seed| path::recursive_observer(&trees, level, adversary, seed),
                        &inwards(&one_trials, level),
                        &inwards(&other_trials, level),
                    );
                    println!(
                        "tree {level}, {pace_kind:?}, {one:?} and {other:?}, {adversary:?}: {judgement}"
                    );
                    count_tests(judgement.findings.len());
                    assert!(
                        judgement.passes(),
                        "tree {level}, {pace_kind:?}, {one:?}, {other:?}, {adversary:?}: {judgement}"
                    );
                }
            }
        }
    }
}
