//! Fast lookup of a bucket's number of slots and their plaintext length.

use alloc::vec::Vec;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Slot};

#[derive(Clone, Copy)]
struct Run {
    end: u64,
    slots: u32,
    slot_bytes: u32,
}

/// A layout with prefix sums of its extents' buckets.
pub(crate) struct SlotShapes {
    runs: Vec<Run>,
}

impl SlotShapes {
    pub(crate) fn new(layout: &Layout) -> Self {
        let mut end = 0;
        let runs = layout.extents().iter().map(|extent| {
            end += extent.buckets;
            Run { end, slots: extent.slots, slot_bytes: extent.slot_bytes }
        });
        SlotShapes { runs: runs.collect() }
    }

    /// Slots of the bucket, and the plaintext bytes of each.
    ///
    /// # Panics
    /// If the bucket lies outside of the layout: schemes use only their own buckets.
    pub(crate) fn bucket(&self, bucket: Bucket) -> (u32, u32) {
        let at = self.runs.partition_point(|run| run.end <= bucket.0);
        let Some(run) = self.runs.get(at) else {
            panic!("{bucket} lies outside of the layout");
        };
        (run.slots, run.slot_bytes)
    }

    /// Returns the number of plaintext bytes of the slot.
    ///
    /// # Panics
    /// If the slot lies outside of the layout.
    pub(crate) fn slot(&self, slot: Slot) -> u32 {
        let (slots, slot_bytes) = self.bucket(slot.bucket);
        assert!(slot.index < slots, "{slot} lies outside of the layout");
        slot_bytes
    }
}
