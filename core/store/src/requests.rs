//! Turns slots that are read together into range requests: adjacent slots of one bucket version are one request.

use ameles_core::store::{BucketVersion, Place};
use ameles_core::tree::layout::Layout;

/// A range of one bucket version: a single request on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeRequest {
    /// The bucket version that is read.
    pub of: BucketVersion,
    /// The first slot of the range.
    pub first_slot: u32,
    /// The number of slots in the range; at least 1.
    pub slots: u32,
}

/// The range requests that reading `places` makes, sorted by bucket, version and slot.
///
/// Only exactly adjacent slots are joined, so only requested bytes are fetched. A place that is named twice is fetched
/// twice: the store removes no duplicates. The result does not depend on the order of `places`.
pub fn range_requests(places: &[Place]) -> Vec<RangeRequest> {
    let mut sorted: Vec<Place> = places.to_vec();
    sorted.sort_unstable_by_key(sort_key);
    let mut requests: Vec<RangeRequest> = Vec::new();
    for place in &sorted {
        extend(&mut requests, place);
    }
    requests
}

/// The range requests of a read together with where their bytes go.
pub(crate) struct ReadPlan {
    /// The requests, as [`range_requests`] gives them.
    pub(crate) requests: Vec<RangeRequest>,
    /// The offsets into the caller's buffer, one for each slot, in the order in which the requests hold the slots.
    pub(crate) offsets: Vec<usize>,
}

impl ReadPlan {
    /// Plans the read of `places` into a buffer of `len` bytes.
    pub(crate) fn new(layout: &Layout, places: &[Place], len: usize) -> Self {
        let mut offset = 0;
        let mut sorted: Vec<(Place, usize)> = Vec::with_capacity(places.len());
        for place in places {
            sorted.push((*place, offset));
            offset += layout.slot_bytes(place.slot);
        }
        assert_eq!(offset, len, "the buffer must be exactly the wanted slots' sealed lengths");
        sorted.sort_by_key(|(place, _)| sort_key(place));
        let mut requests = Vec::new();
        for (place, _) in &sorted {
            extend(&mut requests, place);
        }
        let offsets = sorted.into_iter().map(|(_, offset)| offset).collect();
        ReadPlan { requests, offsets }
    }
}

fn sort_key(place: &Place) -> (BucketVersion, u32) {
    (version_of(place), place.slot.index)
}

pub(crate) fn version_of(place: &Place) -> BucketVersion {
    BucketVersion { bucket: place.slot.bucket, version: place.version }
}

fn extend(requests: &mut Vec<RangeRequest>, place: &Place) {
    let of = version_of(place);
    match requests.last_mut() {
        Some(last) if last.of == of && last.first_slot + last.slots == place.slot.index => last.slots += 1,
        _ => requests.push(RangeRequest { of, first_slot: place.slot.index, slots: 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_core::tree::layout::Extent;
    use ameles_core::types::{Bucket, Slot, Version};

    fn place(bucket: u64, counter: u64, index: u32) -> Place {
        Place { slot: Slot { bucket: Bucket(bucket), index }, version: Version { epoch: 1, counter } }
    }

    fn shape(requests: &[RangeRequest]) -> Vec<(u64, u64, u32, u32)> {
        requests.iter().map(|r| (r.of.bucket.0, r.of.version.counter, r.first_slot, r.slots)).collect()
    }

    #[test]
    fn only_exactly_adjacent_slots_of_one_version_are_joined() {
        let places =
            [place(1, 5, 3), place(0, 2, 0), place(1, 5, 2), place(1, 6, 4), place(1, 5, 0), place(0, 2, 1)];
        assert_eq!(shape(&range_requests(&places)), [(0, 2, 0, 2), (1, 5, 0, 1), (1, 5, 2, 2), (1, 6, 4, 1)]);
    }

    #[test]
    fn a_place_named_twice_is_fetched_twice() {
        let places = [place(0, 1, 1), place(0, 1, 1)];
        assert_eq!(shape(&range_requests(&places)), [(0, 1, 1, 1), (0, 1, 1, 1)]);
    }

    #[test]
    fn the_plan_leads_every_slot_back_to_where_it_was_asked_for() {
        let layout = Layout::new(vec![Extent { buckets: 2, slots: 4, slot_bytes: 10 }]);
        let places = [place(1, 1, 3), place(0, 1, 2), place(1, 1, 2)];
        let plan = ReadPlan::new(&layout, &places, 30);
        assert_eq!(shape(&plan.requests), [(0, 1, 2, 1), (1, 1, 2, 2)]);
        assert_eq!(plan.offsets, [10, 20, 0]);
    }
}
