//! Blocks, leaves, levels, buckets and slots as types of their own, so that integers are not mixed up.

use borsh::{BorshDeserialize, BorshSerialize};
use core::fmt;

/// A block's logical address. It must never show in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct BlockId(pub u64);

/// A leaf of the tree, counted from the left: `0..2^L`. It names one path from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Leaf(pub u64);

/// A level of the tree; the root is level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Level(pub u32);

/// A bucket of untrusted memory, by its number in the whole [`Layout`](crate::tree::layout::Layout).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Bucket(pub u64);

/// A place in untrusted memory that is read and sealed as one: slot `index` of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Slot {
    /// The bucket that holds it.
    pub bucket: Bucket,
    /// The slot's index within the bucket, from 0.
    pub index: u32,
}

impl Slot {
    /// The slot of a bucket that has one.
    pub fn only(bucket: Bucket) -> Self {
        Slot { bucket, index: 0 }
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Bytes(pub u64);

/// The version of a bucket: the number of its write. The trusted side remembers the newest of every bucket.
///
/// `epoch` counts the openings of a vault, each with a sealing key of its own; `counter` counts the bucket
/// writes within it, from 1. [`Version::NEVER`] is the one value that means "never written".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Version {
    /// The opening under whose key the bucket was sealed.
    pub epoch: u32,
    /// The bucket writes of that epoch, this one included.
    pub counter: u64,
}

impl Version {
    /// The version of a bucket that was never written: it is empty, and nothing is fetched for it.
    pub const NEVER: Version = Version { epoch: 0, counter: 0 };

    /// Returns whether the bucket was never written.
    pub fn is_never(self) -> bool {
        self == Self::NEVER
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}", self.0)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {} of bucket {}", self.index, self.bucket.0)
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bucket {}", self.0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {}.{}", self.epoch, self.counter)
    }
}
