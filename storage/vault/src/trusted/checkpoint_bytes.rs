//! The bytes of checkpoints on the trusted disk, by kind.

use std::ops::{AddAssign, Sub};

/// The sealed bytes that checkpoints have written to the trusted disk, by kind. The database's overhead is not counted.
/// Only the owner may see them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointBytes {
    /// The payloads of blocks that came into the stash or were written there.
    pub payloads: u64,
    /// The changed words.
    pub deltas: u64,
    /// The pieces of words that were due.
    pub pieces: u64,
    /// The replaced bucket versions.
    pub garbage: u64,
    /// The summaries.
    pub summaries: u64,
}

impl CheckpointBytes {
    /// The sum of all kinds.
    pub fn total(mut self) -> u64 {
        self.kinds().into_iter().map(|bytes| *bytes).sum()
    }

    fn kinds(&mut self) -> [&mut u64; 5] {
        let CheckpointBytes { payloads, deltas, pieces, garbage, summaries } = self;
        [payloads, deltas, pieces, garbage, summaries]
    }
}

impl AddAssign for CheckpointBytes {
    fn add_assign(&mut self, mut more: Self) {
        self.kinds().into_iter().zip(more.kinds()).for_each(|(sum, more)| *sum += *more);
    }
}

impl Sub for CheckpointBytes {
    type Output = Self;

    fn sub(mut self, mut earlier: Self) -> Self {
        self.kinds().into_iter().zip(earlier.kinds()).for_each(|(since, earlier)| *since -= *earlier);
        self
    }
}
