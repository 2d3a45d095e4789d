//! Plans of Ring ORAM for a grid that spans what a user can request.

use crate::schemes::ring::{RingObjective, RingParameters};
use alloc::vec::Vec;

/// S3's list prices for blocks of 64 KiB: a request that reads, one that writes, egress; ingress is free.
pub const DOLLARS: RingObjective = RingObjective {
    get: 4e-7,
    put: 5e-6,
    slot_read: 0.09 / 16_384.0,
    slot_written: 0.0009 / 16_384.0,
    slot_waited: 0.0,
};

/// The objectives, by name.
pub const OBJECTIVES: [(&str, RingObjective); 4] = [
    ("bytes", RingObjective::BYTES),
    ("requests", RingObjective::REQUESTS),
    ("dollars", DOLLARS),
    ("latency", RingObjective::LATENCY),
];

/// The vault that a user requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanRequest {
    /// The number of blocks.
    pub capacity: u64,
    /// The number of blocks that may be trusted.
    pub trusted: u64,
    /// The largest batch.
    pub max_batch: u32,
    /// The maximum number of slots of a slice.
    pub slice_slots: u32,
    /// The cost that is made small.
    pub objective: RingObjective,
}

impl PlanRequest {
    /// The parameters that are planned for this request.
    pub fn plan(&self) -> RingParameters {
        let (batch, slots) = (self.max_batch, self.slice_slots);
        RingParameters::for_objective(self.capacity, 0, self.trusted, (batch, slots), self.objective)
    }
}

/// The parameters that a user gets with a Z, an S or an A of their own: from the minimum to the maximum of each.
pub fn adjusted(plan: &RingParameters) -> impl Iterator<Item = RingParameters> {
    [1, 4, 16, 64, 256, 1024].into_iter().flat_map(|given| {
        let changes = [(Some(given), None, None), (None, Some(given), None), (None, None, Some(given))];
        changes.map(|(z, s, a)| plan.adjusted(z, s, a))
    })
}

/// All combinations of capacities, of trusted parts of them (one in this many), of largest batches and of objectives.
/// For few bytes, also with slices of at most 64 slots.
pub fn grid(capacities: &[u64], parts: &[u64], batches: &[u32]) -> Vec<PlanRequest> {
    let mut requests = Vec::new();
    for capacity in capacities.iter().copied() {
        for part in parts.iter().copied() {
            for max_batch in batches.iter().copied() {
                let request = |objective, slice_slots| {
                    let trusted = capacity / part;
                    PlanRequest { capacity, trusted, max_batch, slice_slots, objective }
                };
                requests.extend(OBJECTIVES.map(|(_, objective)| request(objective, u32::MAX)));
                requests.push(request(RingObjective::BYTES, 64));
            }
        }
    }
    requests
}
