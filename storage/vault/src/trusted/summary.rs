//! The summary of a checkpoint: the small parts of the trusted state, and the other parts that it needs.

use super::stash_directory::StashKey;
use crate::engine::scheme::Seed;
use ameles_seal::versions::VersionsHead;
use borsh::{BorshDeserialize, BorshSerialize};

/// The point at which a checkpoint holds the trusted state.
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
pub(crate) struct CheckpointHead {
    /// The number of the checkpoint.
    pub(crate) number: u64,
    /// The number of the first journal record after the checkpoint.
    pub(crate) sequence: u64,
    /// The number of accesses since the vault was created.
    pub(crate) accesses: u64,
    /// The seed of the scheme's randomness from there on.
    pub(crate) seed: Seed,
}

/// The summary of a checkpoint. Each checkpoint writes it again.
#[derive(BorshSerialize, BorshDeserialize)]
pub(crate) struct Summary {
    pub(crate) head: CheckpointHead,
    /// The rest of the scheme's state.
    pub(crate) rest: Vec<u8>,
    pub(crate) versions: VersionsHead,
    /// The number of slots of the stash.
    pub(crate) slots: u64,
    pub(crate) keys: Vec<StashKey>,
    /// Every piece holds the words of this checkpoint or of a later one. The deltas after it are needed.
    pub(crate) oldest: u64,
    /// The next piece to be written.
    pub(crate) next_piece: u64,
}
