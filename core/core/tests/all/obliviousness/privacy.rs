//! Root ORAM keeps to the privacy that its parameters state, and the judge detects a statement that is too good.
//!
//! Two blocks are requested, and one access of six requests either of them. A single access can tell at most the
//! subtrees of the accesses before and after it.

use super::setup::*;
use crate::model::setup::lone_path;
use ameles_core::schemes::root::{RootParameters, root_oram};
use ameles_core::testing::oblivious::{
    Adversary, Judgement, Pace, Patterns, Trial, judge_likelihood, path, run_script,
};
use ameles_core::testing::{Operation, TraceStore};
use ameles_core::types::{BlockId, Bucket, Level};

/// The number of runs of each of two sequences.
const RUNS_OF_EACH: u64 = 9000;

/// Sixteen leaves, in subtrees of four.
fn parameters(epsilon: f64) -> RootParameters {
    RootParameters::for_epsilon(lone_path(8, 1, 4), Level(2), epsilon)
}

/// Requests two blocks twice, since the leaf that a first access shows is not the leaf of a block. Then requests one of
/// them, then both.
fn script(asks_for: Operation) -> Vec<Vec<Operation>> {
    let [one, other] = [1, 2].map(|block| Operation::Read(BlockId(block)));
    let both = || [one, other];
    let operations = both().into_iter().chain(both()).chain([asks_for]).chain(both());
    operations.map(|operation| vec![operation]).collect()
}

fn runs(parameters: &RootParameters, asks_for: &Operation, side: u64) -> Vec<Trial> {
    (0..RUNS_OF_EACH)
        .map(|nth| {
            let (seed, operations) = (side << 32 | nth, script(*asks_for));
            let store = TraceStore::new(parameters.path.layout());
            let oram =
                root_oram(parameters.clone(), Bucket(0), &store, rng(seed), rng(!seed)).expect("valid");
            let events =
                run_script(&oram, &store, &operations, operations.len(), Pace::Prompt, current_work());
            Trial { operations, events }
        })
        .collect()
}

/// Judges a scheme of these parameters by a privacy that it states.
fn judge(parameters: &RootParameters, stated: f64, pair: [&Operation; 2]) -> Judgement {
    let [one, other] = pair;
    let patterns = Patterns { accesses: &[2, 3, 4, 5, 6], subtree: &|leaf| leaf / 4 };
    let observer = |seed| path::observer(&parameters.path, Adversary::Full, seed);
    judge_likelihood(stated, &patterns, observer, &runs(parameters, one, 1), &runs(parameters, other, 2))
}

fn pairs() -> [[Operation; 2]; 3] {
    let [one, other] = [1, 2].map(|block| Operation::Read(BlockId(block)));
    [[one, other], [one, Operation::Dummy], [other, Operation::Read(BlockId(5))]]
}

#[test]
fn root_oram_tells_no_more_than_its_privacy_allows() {
    for epsilon in [0.0, 0.5, 1.5, 3.0] {
        for [one, other] in &pairs() {
            let judgement = judge(&parameters(epsilon), epsilon, [one, other]);
            println!("ε = {epsilon}, {one:?} or {other:?}: {judgement}");
            count_tests(judgement.findings.len());
            assert!(judgement.passes(), "ε = {epsilon}, {one:?} or {other:?}: {judgement}");
        }
    }
}

#[test]
fn a_privacy_that_is_too_good_is_found_out() {
    let [one, other] = &pairs()[0];
    // A proof that forgets that both blocks tell, and parameters that are a little off.
    for (epsilon, stated) in [(3.0, 1.5), (3.0, 2.0), (1.5, 0.75), (1.0, 0.0)] {
        let judgement = judge(&parameters(epsilon), stated, [one, other]);
        println!("ε = {epsilon}, stated {stated}: {judgement}");
        assert!(judgement.alarmed("likelier under"), "ε = {epsilon}, stated {stated}: {judgement}");
    }
}
