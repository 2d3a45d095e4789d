//! The number of blocks in the stash, compared with the room that planned parameters leave.
//! `docs/how-it-works/stash.md` has the distribution, and `examples/stash_sweep.rs` has the long comparison.

use super::filling::written;
use super::setup::*;
use ameles_core::oram::{Access, Oram};
use ameles_core::schemes::ring::{
    RingBucket, RingFilling, RingParameters, RingParametersError, RingProgress, RingRedraw,
};
use ameles_core::snapshot::incremental::IncrementalSnapshot;
use ameles_core::testing::stash_tail::{
    ExponentialFit, Reads, emergency_log2, excess_over_bound, held_over_bound, moments, simulate,
    waiting_mean,
};
use ameles_core::testing::{finish_now, settle};
use ameles_core::types::{BlockId, Level};
use rand_core::RngCore;
use std::collections::BTreeMap;
use std::ops::Range;

/// Plans for a large part, a sixteenth and a sixty-fourth on the trusted side, and for batches of 1 and 16.
fn plans() -> impl Iterator<Item = RingParameters> {
    let shares = [(256, 2), (256, 16), (1024, 2), (1024, 8), (1024, 64), (4096, 4), (4096, 16)];
    shares.into_iter().flat_map(|(capacity, share)| {
        [1, 16].map(|batch| RingParameters::for_capacity(capacity, 0, capacity / share, batch))
    })
}

#[test]
fn no_excess_is_seen_more_often_than_the_law_says() {
    for parameters in plans() {
        for reads in [Reads::Scan, Reads::Random, Reads::HotPart(4), Reads::HotPart(7), Reads::HotPart(16)] {
            let tail = simulate(&parameters, reads, 40_000, 1);
            let ratio = excess_over_bound(&parameters, &tail.excess);
            assert!(ratio < 0.0, "2^{ratio:.1} times as often for {reads:?} with {parameters:?}");
            let ratio = held_over_bound(&parameters, &tail.held);
            assert!(ratio < 0.0, "2^{ratio:.1} times as many for {reads:?} with {parameters:?}");
            assert_eq!(tail.emergencies, 0, "{reads:?} with {parameters:?}");
        }
    }
}

#[test]
fn the_blocks_that_wait_are_as_many_as_the_sum_of_coins_says() {
    for parameters in plans() {
        let tail = simulate(&parameters, Reads::Scan, 40_000, 2);
        let (held, _) = moments(&tail.held);
        let (excess, _) = moments(&tail.excess);
        // The mean is at most that of the worst timing, in which the newest 2 A - 1 accesses had no eviction. With
        // evictions at an even pace, between none and A accesses had none. A vault that is smaller than its stash holds
        // fewer.
        let max = waiting_mean(&parameters).min(parameters.capacity as f64);
        let min = waiting_mean(&parameters) - f64::from(2 * parameters.eviction_rate + parameters.max_batch);
        let waiting = held - excess;
        assert!(waiting < max, "{waiting:.1} wait, expected at most {max:.1}: {parameters:?}");
        assert!(waiting > min.min(max / 2.0), "{waiting:.1} wait, expected {min:.1}: {parameters:?}");
    }
}

#[test]
fn a_stash_with_less_room_overflows_and_is_computed_to() {
    let planned = RingParameters::for_capacity(4096, 0, 1024, 16);
    let Err(RingParametersError::Stash { needed, .. }) =
        RingParameters { stash_bound: 0, ..planned.clone() }.validate()
    else {
        panic!("a stash of nothing is too small");
    };
    let tight = RingParameters { stash_bound: needed, ..planned };
    assert!(tight.emergency_log2() > -1.0, "the distribution promises nothing of {tight:?}");
    assert!(simulate(&tight, Reads::Scan, 100_000, 3).emergencies > 0, "{tight:?}");
}

#[test]
fn an_emergency_eviction_of_the_default_vault_is_rarer_than_2_to_the_minus_80() {
    let parameters = RingParameters::for_capacity(16_384, 0, 1024, 16);
    assert!(parameters.emergency_log2() < -80.0);
    // The exact distribution of the blocks that wait, and the excess as it is seen, say so too.
    let tail = simulate(&parameters, Reads::Scan, 2_000_000, 5);
    let log2 = emergency_log2(&parameters, &tail.excess, 64).expect("enough samples");
    assert!(log2 < -80.0, "2^{log2:.1}");
    // Less room is told from enough, by both.
    let smaller = RingParameters { stash_bound: parameters.stash_bound - 200, ..parameters };
    let measured = emergency_log2(&smaller, &tail.excess, 64).expect("enough samples");
    let computed = smaller.emergency_log2();
    assert!(
        measured > -60.0 && computed > -60.0,
        "2^{measured:.1}, 2^{computed:.1} with two hundred blocks less"
    );
}

#[test]
fn the_measured_tail_falls_faster_than_an_exponential() {
    let parameters = RingParameters::for_capacity(4096, 0, 512, 16);
    let tail = simulate(&parameters, Reads::Scan, 1_000_000, 4);
    // A line through the upper part of the tail lies above what is measured further out.
    let upper = ExponentialFit::of(&tail.held, 2000).expect("many samples");
    let deeper = ExponentialFit::of(&tail.held, 50).expect("some samples");
    assert!(deeper.slope > upper.slope, "{:.3} bits a block, then {:.3}", upper.slope, deeper.slope);
    assert!(deeper.last.1 < upper.log2(deeper.last.0));
}

#[test]
fn compacted_buckets_bring_more_than_a_block_an_access_and_the_hard_bound_counts_them() {
    // A batch may take all slots of the root, whose last ones are blocks that nobody requested.
    let bucket = |blocks| RingBucket { blocks, slots: 65 };
    let parameters = RingParameters {
        eviction_rate: 46,
        reads: 65,
        inner: bucket(33),
        leaf: bucket(49),
        max_batch: 64,
        stash_bound: 133,
        ..RingParameters {
            leaf_level: Level(5),
            top: Level(0),
            ..RingParameters::for_capacity(1024, 0, 128, 64)
        }
    };
    let store = store_for(&parameters);
    let ring = flat_ring(&parameters, &store, 1);
    let mut max = 0;
    for first in (0..200 * 64).step_by(64) {
        let mut nothing = [[0; 0]; 64];
        let mut batch: Vec<Access<'_>> = (first..)
            .zip(&mut nothing)
            .map(|(block, into)| Access::Read(BlockId(block % parameters.capacity), into))
            .collect();
        finish_now(settle(&ring));
        let before = ring.stash_blocks();
        finish_now(ring.access(&mut batch)).expect("a settled stash takes a batch");
        max = max.max(ring.stash_blocks() - before);
    }
    assert!(max > 64, "{max} blocks: a block an access would be enough");
    // Full up to the last batch, with six levels of compacted buckets below.
    assert_eq!(parameters.max_stash_blocks(), u64::from(parameters.stash_bound) + 64 * 6);
}

/// The numbers of blocks in the stash of redrawn rings. Each ring is redrawn after this many accesses, and continues
/// for two rounds of evictions, each as late as the schedule allows.
fn held_after_a_redraw(
    parameters: &RingParameters,
    (accesses, reads): (u64, Reads),
    seeds: Range<u64>,
) -> BTreeMap<i64, u64> {
    let mut held = BTreeMap::new();
    let tree = parameters.geometry();
    let round = u64::from(parameters.eviction_rate) << tree.top().0;
    for seed in seeds {
        let fresh = flat_ring(parameters, store_for(parameters), seed);
        let start = RingProgress::of_rest(&fresh.rest()).expect("the rest of a Ring ORAM");
        let plan = RingRedraw::plan(parameters, start, accesses, |_| false);
        let filling = RingFilling::redraw(&plan, |block| block.0 < plan.max_blocks(), rng(seed));
        let store = store_for(parameters);
        let filling = filling.expect("a block an access");
        let ring = written(filling, plan.buckets(), (parameters, &store, seed), &|_| Some(Vec::new()));
        let mut choose = rng(!seed);
        let batch = u64::from(parameters.max_batch);
        for nth in 0..2 * round / batch {
            *held.entry(ring.stash_blocks() as i64).or_default() += 1;
            let mut nothing = vec![[0; 0]; batch as usize];
            let mut requested: Vec<Access<'_>> = (nth * batch..)
                .zip(&mut nothing)
                .map(|(at, into)| Access::Read(BlockId(requested_block(reads, at, &plan, &mut choose)), into))
                .collect();
            finish_now(ring.access(&mut requested)).expect("a stash with room");
            store.take_trace();
            while ring.must_step() {
                finish_now(ring.step()).expect("memory");
            }
        }
        assert_eq!(ring.emergencies(), 0, "seed {seed}, {accesses} accesses, {reads:?}: {parameters:?}");
    }
    held
}

/// The block that a read is for: one that exists, or in a scan any other too.
fn requested_block(reads: Reads, at: u64, plan: &RingRedraw, choose: &mut impl RngCore) -> u64 {
    let blocks = plan.max_blocks().max(1);
    match reads {
        Reads::Random => choose.next_u64() % blocks,
        Reads::HotPart(parts) => at % (blocks / parts).max(1),
        _ => (blocks + at) % plan.parameters().capacity,
    }
}

#[test]
fn no_redraw_at_any_time_is_seen_with_more_blocks_than_the_law_says() {
    for parameters in plans().filter(|planned| planned.capacity <= 1024) {
        let rate = u64::from(parameters.eviction_rate);
        let leaves = parameters.geometry().leaves();
        let evictions = (0..2 * leaves).filter(|turn| turn % (leaves / 8).max(1) == turn % 5 % 3);
        for (nth, evictions) in (0..).zip(evictions) {
            // No eviction is due, or the next one nearly is.
            let accesses = evictions * rate + [0, rate - 1][nth as usize % 2];
            for reads in [Reads::Scan, Reads::Random, Reads::HotPart(7)] {
                let held = held_after_a_redraw(&parameters, (accesses, reads), nth..nth + 2);
                let ratio = held_over_bound(&parameters, &held);
                assert!(
                    ratio < 0.0,
                    "2^{ratio:.1} times as many after {evictions} evictions, {reads:?}: {parameters:?}"
                );
            }
        }
    }
}
