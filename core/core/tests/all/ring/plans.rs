//! The plans of Ring ORAM for everything that a user can request, tested by computation alone. `examples/ring_plans.rs`
//! has a finer grid, and `stash.rs` has the simulations.

use ameles_core::schemes::ring::{RingObjective, RingParameters};
use ameles_core::testing::ring_plans::{PlanRequest, adjusted, grid};

/// The log2 of the probability of an emergency eviction that a plan must stay below.
const MAX: f64 = -80.0;

/// Plans for a grid of requests from the least to the most that may be requested.
fn requests() -> Vec<PlanRequest> {
    let large = [1 << 12, 1 << 17, (1 << 31) - 1];
    let mut requests = grid(&[1, 2, 20, 64, 300, 1024], &[1, 2, 5, 8, 16, 1024], &[1, 16, 1024]);
    requests.extend(grid(&large, &[4, 8, 64], &[16]));
    requests.extend(grid(&[1 << 14], &[2, 20, 65_536], &[1, 1024]));
    requests
}

#[test]
fn every_vault_that_can_be_asked_for_gets_a_stash_that_overflows_below_2_to_the_minus_80() {
    for request in requests() {
        let plan = request.plan();
        assert_eq!(plan.validate(), Ok(()), "{request:?}: {plan:?}");
        let log2 = plan.emergency_log2();
        assert!(log2 <= MAX, "2^{log2:.1} for {request:?}: {plan:?}");
        assert!(plan.eviction_rate <= 256, "{request:?}: {plan:?}");
    }
}

#[test]
fn a_z_s_or_a_of_the_user_s_gets_a_stash_that_holds_or_is_refused() {
    let mut valid = 0;
    for request in grid(&[20, 1024, 1 << 14, 1 << 17], &[8], &[1, 16]) {
        if request.objective != RingObjective::BYTES {
            continue;
        }
        for plan in adjusted(&request.plan()).filter(|plan| plan.validate().is_ok()) {
            valid += 1;
            let log2 = plan.emergency_log2();
            assert!(log2 <= MAX, "2^{log2:.1} for {request:?}: {plan:?}");
        }
    }
    assert!(valid > 30, "{valid} are valid");
}

#[test]
fn a_plan_costs_least_of_what_it_is_made_for() {
    for (capacity, part) in [(4096, 8), (4096, 20), (1 << 14, 16), (1 << 17, 20)] {
        let of = |objective| {
            RingParameters::for_objective(capacity, 0, capacity / part, (16, u32::MAX), objective)
        };
        let (bytes, requests) = (of(RingObjective::BYTES).traffic(), of(RingObjective::REQUESTS).traffic());
        let free_writes = of(RingObjective { slot_written: 0.01, ..RingObjective::BYTES }).traffic();
        assert!(bytes.slots() <= requests.slots(), "{capacity}, {part}: {bytes:?}, {requests:?}");
        assert!(requests.requests() < bytes.requests(), "{capacity}, {part}: {bytes:?}, {requests:?}");
        // The search ends within a thousandth of what is best around.
        let read = free_writes.slots_read;
        assert!(read <= 1.01 * bytes.slots_read, "{capacity}, {part}: {bytes:?}, {free_writes:?}");
    }
}

#[test]
fn planned_vaults_move_no_more_than_is_told_of_them() {
    // Slots and requests an access, as in the documentation, for 4096 and 131,072 blocks.
    for (capacity, part, slots, requests) in
        [(4096, 8, 13.7, 4.9), (4096, 4, 7.1, 1.8), (1 << 17, 8, 8.9, 3.1), (1 << 17, 4, 4.8, 1.6)]
    {
        let plan = RingParameters::for_capacity(capacity, 0, capacity / part, 16);
        let traffic = plan.traffic();
        assert!(traffic.slots() <= slots && traffic.requests() <= requests, "{traffic:?} of {plan:?}");
    }
}
