//! The slices of Ring ORAM's evictions: no step moves more than the bound, and the steps are spread over the accesses.

use super::setup::*;
use ameles_core::oram::{Access, Oram};
use ameles_core::schemes::ring::{RingBucket, RingObjective, RingParameters};
use ameles_core::testing::{TraceEntry, finish_now, small_ring};
use ameles_core::types::BlockId;

/// The bound on the slots of a slice: 4 MiB in blocks of 64 KiB.
const CAP: u32 = 64;

#[test]
fn no_planned_slice_is_larger_than_the_bound_at_any_size() {
    for log2 in 8..=21 {
        for part in [4, 16, 64] {
            for objective in [RingObjective::BYTES, RingObjective::REQUESTS] {
                let capacity = 1 << log2;
                let plan =
                    RingParameters::for_objective(capacity, 65_536, capacity / part, (16, CAP), objective);
                assert_eq!(plan.validate(), Ok(()), "{plan:?}");
                assert!(plan.largest_slice() <= CAP.into(), "{} slots: {plan:?}", plan.largest_slice());
            }
        }
    }
}

#[test]
fn a_plan_for_latency_has_smaller_slices_than_others_and_moves_more() {
    for log2 in [12, 17, 20] {
        let capacity = 1 << log2;
        let plan = |slots, objective| {
            RingParameters::for_objective(capacity, 65_536, capacity / 16, (16, slots), objective)
        };
        let (latency, bytes) = (plan(CAP, RingObjective::LATENCY), plan(CAP, RingObjective::BYTES));
        assert!(latency.largest_slice() < bytes.largest_slice(), "{latency:?}, {bytes:?}");
        let waits = |plan: &RingParameters| plan.slots_per_access() + plan.largest_slice() as f64;
        assert!(waits(&latency) < waits(&bytes), "{latency:?}, {bytes:?}");
        assert!(latency.slots_per_access() > bytes.slots_per_access(), "{latency:?}, {bytes:?}");
        let unbounded = plan(u32::MAX, RingObjective::LATENCY);
        assert!(waits(&unbounded) <= 1.01 * waits(&latency), "{unbounded:?}, {latency:?}");
    }
}

#[test]
fn no_access_waits_for_more_than_its_share_of_an_eviction() {
    for slice_slots in [60, 120, 170] {
        let inner = RingBucket { blocks: 8, slots: 58 };
        let parameters = RingParameters { eviction_rate: 5, inner, slice_slots, ..small_ring(50) };
        assert_eq!(parameters.validate(), Ok(()));
        let slices = parameters.slices().len() as u64;
        let store = store_for(&parameters);
        let ring = flat_ring(&parameters, &store, 1);
        let mut begun = 0;
        for access in 1..=200u64 {
            let mut steps = 0;
            while ring.must_step() {
                store.take_trace();
                finish_now(ring.step()).expect("the step");
                steps += 1;
                for entry in store.take_trace() {
                    let slots = match entry {
                        TraceEntry::Read(slots) => slots.len() as u64,
                        TraceEntry::Write(buckets) => {
                            let tree = parameters.geometry();
                            let slots = |bucket| u64::from(tree.shape(tree.level_of(bucket)).slots);
                            buckets.into_iter().map(slots).sum()
                        }
                    };
                    assert!(slots <= slice_slots.into(), "{slots} slots in one request");
                }
            }
            assert!(steps <= slices.div_ceil(5), "{steps} steps before access {access}");
            begun += steps;
            // One eviction may be late.
            let due = (access - 1) * slices / 5;
            assert_eq!(begun, due.saturating_sub(slices), "before access {access}");
            finish_now(ring.access(&mut [Access::Dummy])).expect("the access");
        }
        assert!(begun > 3 * slices);
    }
}

#[test]
fn between_two_slices_the_stash_holds_one_path_more_at_most() {
    // The most blocks at rest, over a scan.
    let max_at_rest = |parameters: &RingParameters| {
        assert_eq!(parameters.validate(), Ok(()));
        let store = store_for(parameters);
        let ring = flat_ring(parameters, &store, 1);
        let mut max = 0;
        for nth in 0..4 * parameters.capacity {
            let block = BlockId(nth % parameters.capacity);
            finish_now(ring.access(&mut [Access::Write(block, &[])])).expect("the access");
            while ring.pending_steps() > 0 {
                finish_now(ring.step()).expect("the step");
            }
            max = max.max(ring.stash_blocks() as u64);
        }
        assert_eq!(ring.emergencies(), 0);
        assert!(max <= parameters.max_blocks_at_rest(), "{max} of {}", parameters.max_blocks_at_rest());
        max
    };
    let plan = |slots| RingParameters::for_objective(2048, 0, 256, (4, slots), RingObjective::BYTES);
    let parameters = plan(48);
    let whole = RingParameters { slice_slots: u32::MAX, ..parameters.clone() };
    assert!(parameters.slices().len() > 1, "{parameters:?}");
    assert_eq!(parameters.max_blocks_at_rest(), whole.max_blocks_at_rest() + parameters.blocks_on_path());
    let (sliced, whole) = (max_at_rest(&parameters), max_at_rest(&whole));
    assert!(sliced > whole + u64::from(parameters.eviction_rate), "{sliced} in slices, {whole} without");
    assert!(sliced <= whole + parameters.blocks_on_path(), "{sliced} in slices, {whole} without");
}
