//! Draws that are a little biased, some of them only now and then: the draws of all pairs of sequences together show
//! it.

use super::schemes::{crowded_buckets, ring_subject, whole_buckets};
use super::setup::*;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::ring::{RingOram, RingParameters};
use ameles_core::testing::mutants::{
    Bias, BiasedLeaves, DelaysHits, Edit, EditingStore, FirstUnreadWhen, FullStashReaction, Occasion,
    ReactsToFullStash,
};
use ameles_core::testing::oblivious::{Adversary, Judgement, Pace, Sequence};
use ameles_core::testing::{Event, Operation, TraceStore, small_ring};

/// The judgement over all pairs of a Ring ORAM whose leaves are drawn so.
fn with_leaves(bias: Bias, occasion: Occasion, per_mille: usize) -> Judgement {
    let parameters = whole_buckets();
    let flaw = (bias, occasion, per_mille);
    let run: Run<'_> = &|seed, script, pace| {
        run_at_full_stash(&parameters, FullStashReaction::Reports, flaw, seed, script, pace)
    };
    ring_subject(&parameters, run).judge_pooled()
}

/// The number of blocks from which on a stash counts as full. The stash reaches it before some of a hundred batches.
const FULL_STASH: usize = 4;

/// Runs a Ring ORAM that does so while its stash is full, and whose leaves are drawn so.
fn run_at_full_stash(
    parameters: &RingParameters,
    then: FullStashReaction,
    flaw: (Bias, Occasion, usize),
    seed: u64,
    script: &[Vec<Operation>],
    pace: Pace,
) -> Vec<Event> {
    let store = TraceStore::new(parameters.layout());
    let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
    let positions = BiasedLeaves::new(positions, 1 << parameters.leaf_level.0, flaw, seed);
    let is_full = positions.is_full();
    let oram = RingOram::new(parameters.clone(), &store, positions, rng(seed)).expect("valid parameters");
    let oram = ReactsToFullStash::new(oram, RingOram::stash_blocks, FULL_STASH, then, is_full);
    drive(&oram, &store, script, pace, current_work())
}

fn assert_found(what: &str, judgement: &Judgement, family: &str) {
    println!("{what}: {judgement}");
    assert!(judgement.alarmed(family), "{what}: no alarm of {family}: {judgement}");
}

fn assert_leaves_found(bias: Bias, occasion: Occasion, per_mille: usize, family: &str) {
    let what = format!("{bias:?}, {occasion:?}, {per_mille} of 1000");
    assert_found(&what, &with_leaves(bias, occasion, per_mille), family);
}

#[test]
fn a_leaf_that_is_drawn_twice_is_found_by_that_for_which_the_better_one_was_kept() {
    for (bias, per_mille, family) in [
        (Bias::LowerOfTwo, 200, "leaves, by high bits"),
        (Bias::EmptierOfTwo, 300, "leaves by how many blocks lie there"),
        (Bias::SoonerEvictedOfTwo(3), 300, "steps from the next eviction at the draw"),
        (Bias::FartherOfTwo, 300, "steps from the block's last leaf"),
        (Bias::FartherFromDrawnOfTwo, 300, "steps from the leaf drawn before"),
    ] {
        assert_leaves_found(bias, Occasion::Always, per_mille, family);
    }
}

#[test]
fn a_leaf_that_is_seldom_drawn_and_a_bit_that_is_often_clear_are_found() {
    assert_leaves_found(Bias::Never(11), Occasion::Always, 200, "leaves, by high bits");
    assert_leaves_found(Bias::Clear(0), Occasion::Always, 60, "leaves, by high bits");
}

#[test]
fn a_bias_in_the_draws_of_one_kind_of_access_is_found() {
    for (occasion, per_mille) in [
        (Occasion::First, 100),
        (Occasion::Hit, 150),
        (Occasion::Miss, 100),
        (Occasion::AfterDummy, 250),
        (Occasion::Repeated, 150),
    ] {
        assert_leaves_found(Bias::Clear(0), occasion, per_mille, "leaves, by high bits");
    }
}

/// The judgement over all pairs of a Ring ORAM over a store that does this.
fn with_store(parameters: &RingParameters, edit: Edit) -> Judgement {
    let run: Run<'_> = &|seed, script, pace| {
        let (store, current_work) = (TraceStore::new(parameters.layout()), current_work());
        let edited = EditingStore::new(&store, edit, 1, current_work.clone());
        let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
        let oram = RingOram::new(parameters.clone(), edited, positions, rng(seed)).expect("valid parameters");
        drive(&oram, &store, script, pace, current_work)
    };
    ring_subject(parameters, run).judge_pooled()
}

#[test]
fn slots_that_are_chosen_by_their_place_are_found_even_if_only_in_full_buckets() {
    for (when, family) in [
        (FirstUnreadWhen::NoDummyIsLeft, "slots one by one"),
        (FirstUnreadWhen::Full(4), "slots of accesses"),
        (FirstUnreadWhen::Evicts, "slots of evictions"),
    ] {
        let judgement = with_store(&crowded_buckets(), Edit::FirstUnread(when));
        assert_found(&format!("{when:?}"), &judgement, family);
    }
}

#[test]
fn paths_that_are_read_in_an_order_of_their_own_are_found() {
    // No bucket is read too often: the order of reshuffles would tell the order of the requests as well.
    let parameters = RingParameters { block_bytes: 1, max_batch: MAX_BATCH, ..small_ring(50) };
    let judgement = with_store(&parameters, Edit::SortsPaths);
    assert_found("sorted paths", &judgement, "leaves, by high bits");
}

#[test]
fn a_hit_that_lets_a_step_pass_is_found() {
    let parameters = whole_buckets();
    let run: Run<'_> = &|seed, script, pace| {
        let store = TraceStore::new(parameters.layout());
        let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
        let oram = RingOram::new(parameters.clone(), &store, positions, rng(seed)).expect("valid parameters");
        drive(&DelaysHits::new(oram), &store, script, pace, current_work())
    };
    let pair = (Sequence::OneBlock, Sequence::Sweep);
    for pace_kind in [PaceKind::Prompt, PaceKind::Concurrent] {
        let judgement = ring_subject(&parameters, run).judge(Adversary::Full, pair, pace_kind);
        assert!(
            judgement.alarmed("one: shape") && !judgement.alarmed("other: shape"),
            "{pace_kind:?}: {judgement}"
        );
    }
}

#[test]
fn what_is_done_only_while_the_stash_is_full_is_found() {
    assert_leaves_found(Bias::Clear(0), Occasion::FullStash, 1000, "leaves, by high bits");
    let parameters = whole_buckets();
    let sound = (Bias::LowerOfTwo, Occasion::Always, 0);
    for (then, pair) in [
        (FullStashReaction::Yields, (Sequence::Sweep, Sequence::OneBlock)),
        (FullStashReaction::DropsDummy, (Sequence::Mixed, Sequence::Random)),
    ] {
        let run: Run<'_> =
            &|seed, script, pace| run_at_full_stash(&parameters, then, sound, seed, script, pace);
        let judgement = ring_subject(&parameters, run).judge(Adversary::Full, pair, PaceKind::Prompt);
        assert_found(&format!("{then:?}"), &judgement, "one: shape");
    }
}
