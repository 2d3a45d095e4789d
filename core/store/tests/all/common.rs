//! A small layout, and places in it.

use ameles_core::store::{BucketVersion, Place};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Slot, Version};

/// Buckets 0..4 of 4 slots of 8 bytes, then buckets 4..12 of 2 slots of 16 bytes: each has 32 bytes.
pub(crate) fn layout() -> Layout {
    Layout::new(vec![
        Extent { buckets: 4, slots: 4, slot_bytes: 8 },
        Extent { buckets: 8, slots: 2, slot_bytes: 16 },
    ])
}

/// The number of bytes of every bucket of [`layout`].
pub(crate) const BUCKET: usize = 32;

pub(crate) fn version(bucket: u64, counter: u64) -> BucketVersion {
    BucketVersion { bucket: Bucket(bucket), version: Version { epoch: 1, counter } }
}

pub(crate) fn place(bucket: u64, counter: u64, index: u32) -> Place {
    Place { slot: Slot { bucket: Bucket(bucket), index }, version: version(bucket, counter).version }
}

/// A bucket's bytes, each different, that depend on its version.
pub(crate) fn bytes(of: BucketVersion) -> Vec<u8> {
    let seed = (of.bucket.0 * 31 + of.version.counter * 7) as u8;
    (0..BUCKET as u8).map(|at| seed.wrapping_add(at.wrapping_mul(13))).collect()
}
