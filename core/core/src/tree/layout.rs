//! The shape of untrusted memory: runs of equal buckets, with consecutive numbers.

use crate::types::{Bucket, Bytes, Slot};
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};

/// A run of buckets of one shape: a level of a tree, or the whole of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Extent {
    /// The number of buckets.
    pub buckets: u64,
    /// The number of slots in each.
    pub slots: u32,
    /// The number of plaintext bytes of each slot, before sealing.
    pub slot_bytes: u32,
}

/// The shape of a scheme's untrusted memory. Public: the adversary knows it.
#[derive(Clone, Debug, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub struct Layout {
    extents: Vec<Extent>,
}

impl Layout {
    /// A layout of these extents, in the order of their bucket numbers.
    pub fn new(extents: Vec<Extent>) -> Self {
        Layout { extents }
    }

    /// The extents, in the order of their bucket numbers.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Appends another layout, and returns the number that its first bucket gets here.
    pub fn append(&mut self, other: &Layout) -> Bucket {
        let first = Bucket(self.buckets());
        self.extents.extend_from_slice(&other.extents);
        first
    }

    /// All buckets together.
    pub fn buckets(&self) -> u64 {
        self.extents.iter().map(|e| e.buckets).sum()
    }

    /// All slots together.
    pub fn slots(&self) -> u64 {
        self.extents.iter().map(|e| e.buckets * u64::from(e.slots)).sum()
    }

    /// Returns the number of plaintext bytes of all slots together.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.extents.iter().map(|e| e.buckets * u64::from(e.slots) * u64::from(e.slot_bytes)).sum())
    }

    /// The extent that holds `bucket`.
    ///
    /// # Panics
    /// If the bucket is outside of the layout: schemes name only their own buckets.
    pub fn extent(&self, bucket: Bucket) -> &Extent {
        let mut first = 0;
        for extent in &self.extents {
            if bucket.0 < first + extent.buckets {
                return extent;
            }
            first += extent.buckets;
        }
        panic!("{bucket} is outside of a layout of {first} buckets");
    }

    /// Returns the number of plaintext bytes of one slot.
    pub fn slot_bytes(&self, slot: Slot) -> usize {
        self.extent(slot.bucket).slot_bytes as usize
    }

    /// Returns the number of plaintext bytes of one whole bucket.
    pub fn bucket_bytes(&self, bucket: Bucket) -> usize {
        let extent = self.extent(bucket);
        extent.slots as usize * extent.slot_bytes as usize
    }
}
