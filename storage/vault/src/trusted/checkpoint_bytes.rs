//! The bytes of checkpoints on the trusted disk, by kind.

use std::ops::{AddAssign, Sub};

/// The bytes that checkpoints have written to the trusted disk, sealed, by kind; what the database adds is not counted.
/// For the owner alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointBytes {
    /// The payloads of blocks that came into the stash or were written there.
    pub payloads: u64,
    /// The words that had changed.
    pub deltas: u64,
    /// The pieces of words whose turn it was.
    pub pieces: u64,
    /// The bucket versions that were replaced.
    pub garbage: u64,
    /// The summaries.
    pub summaries: u64,
}

impl CheckpointBytes {
    /// Adds them all up.
    pub fn total(&self) -> u64 {
        let CheckpointBytes { payloads, deltas, pieces, garbage, summaries } = self;
        payloads + deltas + pieces + garbage + summaries
    }
}

impl AddAssign for CheckpointBytes {
    fn add_assign(&mut self, more: Self) {
        self.payloads += more.payloads;
        self.deltas += more.deltas;
        self.pieces += more.pieces;
        self.garbage += more.garbage;
        self.summaries += more.summaries;
    }
}

impl Sub for CheckpointBytes {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        CheckpointBytes {
            payloads: self.payloads - earlier.payloads,
            deltas: self.deltas - earlier.deltas,
            pieces: self.pieces - earlier.pieces,
            garbage: self.garbage - earlier.garbage,
            summaries: self.summaries - earlier.summaries,
        }
    }
}
