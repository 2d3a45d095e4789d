//! Freecursive ORAM with counters: whether a group is being remapped must not show.

use super::schemes::{freecursive_parameters, freecursive_subject};
use super::setup::*;
use Sequence::*;
use ameles_core::oram::Oram;
use ameles_core::schemes::freecursive::{
    BackendParameters, FreecursiveOram, FreecursiveParameters, PositionStorage, TAG_BYTES, TrustedHits,
};
use ameles_core::schemes::path::{BucketsByLevel, PathParameters};
use ameles_core::testing::TraceStore;
use ameles_core::testing::mutants::ShowsRemapTurns;
use ameles_core::testing::oblivious::{Adversary, Sequence};
use ameles_core::types::Bucket;
use rand_chacha::ChaCha8Rng;

/// A single level of PosMap blocks, with tags. Its counters are used up after three accesses, so that a group is being
/// remapped most of the time.
fn parameters() -> FreecursiveParameters {
    let base = freecursive_parameters(TrustedHits::ReadThePath);
    let trusted_positions = base.capacity.div_ceil(base.labels.into());
    let BackendParameters::Path { buckets, top } = base.tree else { panic!("it is over Path ORAM") };
    let path = PathParameters {
        capacity: FreecursiveParameters::tree_capacity(base.capacity, base.labels, trusted_positions),
        block_bytes: 12 + TAG_BYTES as u32,
        ..buckets.parameters().clone()
    };
    let positions = PositionStorage::Counters { bits: 3, tags: true };
    let tree = BackendParameters::Path { buckets: BucketsByLevel::uniform(path).expect("valid"), top };
    FreecursiveParameters { trusted_positions, positions, tree, ..base }
}

fn oram(store: &TraceStore, seed: u64) -> FreecursiveOram<&TraceStore, ChaCha8Rng> {
    FreecursiveOram::new(parameters(), Bucket(0), store, rng(seed)).expect("valid")
}

#[test]
fn freecursive_oram_with_counters_shows_nothing_of_group_remaps() {
    let run: Run<'_> = &|seed, script, pace| {
        let store = TraceStore::new(parameters().tree.layout());
        let oram = oram(&store, seed);
        let events = drive(&oram, &store, script, pace, current_work());
        assert_eq!(oram.emergencies(), 0);
        events
    };
    for shown in 0..parameters().paths_per_access() {
        freecursive_subject(parameters(), shown, run).must_pass("counters", &[PaceKind::Prompt]);
    }
}

#[test]
fn a_front_end_that_shows_whether_a_group_is_being_remapped_is_caught() {
    let run: Run<'_> = &|seed, script, pace| {
        let store = TraceStore::new(parameters().tree.layout());
        drive(&ShowsRemapTurns(oram(&store, seed)), &store, script, pace, current_work())
    };
    for pair in [(OneBlock, Sweep), (Dummies, Random)] {
        let judgement =
            freecursive_subject(parameters(), 0, run).judge(Adversary::Full, pair, PaceKind::Prompt);
        println!("{pair:?}: {judgement}");
        assert!(judgement.alarmed("shape"), "no alarm: {judgement}");
    }
}
