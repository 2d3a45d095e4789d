//! The errors of sealed pages.

use ameles_core::types::{Bucket, Slot};

/// The errors of reads and writes of pages. A failed read returns no contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The bytes in shared memory are not those that were sealed for this slot and version: they were changed,
    /// swapped, replayed or rolled back. The whole of the buffer that was requested is wiped.
    #[error(
        "{slot} (version {version}) was forged: shared memory does not have the bytes that were sealed there last"
    )]
    Forged {
        /// The first such slot, in the order requested.
        slot: Slot,
        /// The version that the page should have had.
        version: u64,
    },
    /// The scheme wrote out of its deterministic order. Nothing was written.
    #[error("{bucket} was written out of order: the schedule's next bucket of this area is {expected}")]
    OutOfOrder {
        /// The bucket that was requested.
        bucket: Bucket,
        /// The bucket that the schedule says.
        expected: Bucket,
    },
    /// The bucket has no versions left, after 2^64 writings. Nothing was written; begin a region with a new key.
    #[error("{bucket} has no versions left: begin a new region")]
    VersionsExhausted {
        /// The bucket.
        bucket: Bucket,
    },
    /// The region's key has sealed the most that is safe. Nothing was written; begin a region with a new key.
    #[error("the key of this region has reached the limit of {cipher}: begin a new region")]
    KeyExhausted {
        /// The cipher.
        cipher: super::PageCipher,
    },
}

/// The reason why a region cannot be made. No memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    /// The buckets have different numbers of slots, or slots of different lengths, or one of the two is 0.
    #[error("a region of pages needs buckets of one shape, with slots of at least one byte")]
    Uneven,
    /// There are more slots than 32 bits can number, or than the address space holds.
    #[error("{slots} slots are more than a region holds: at most 2^32, within the address space")]
    TooManySlots {
        /// The number of slots of the layout.
        slots: u64,
    },
    /// The shared memory is too small.
    #[error("the layout needs {needed} bytes of shared memory, but there are {found}")]
    MemoryTooSmall {
        /// The bytes that the layout needs.
        needed: usize,
        /// The bytes that there are.
        found: usize,
    },
    /// The versions belong to another layout.
    #[error("the versions are for {found} buckets, but the layout has {expected}")]
    OtherVersions {
        /// The number of buckets that the versions are for.
        found: u64,
        /// The number of buckets of the layout.
        expected: u64,
    },
}
