//! The summary of a checkpoint: what is small of the trusted state, and what must be there beside it.

use super::stash_directory::StashKey;
use crate::engine::scheme::Seed;
use ameles_seal::versions::VersionsHead;
use borsh::{BorshDeserialize, BorshSerialize};

/// See the module. It is written anew with each checkpoint.
#[derive(BorshSerialize, BorshDeserialize)]
pub(crate) struct Summary {
    /// The number of the checkpoint.
    pub(crate) number: u64,
    /// The number of the first journal record after it.
    pub(crate) sequence: u64,
    /// Accesses since the vault was made.
    pub(crate) accesses: u64,
    pub(crate) seed: Seed,
    /// The rest of the scheme's state.
    pub(crate) rest: Vec<u8>,
    pub(crate) versions: VersionsHead,
    /// Places of the stash.
    pub(crate) slots: u64,
    pub(crate) keys: Vec<StashKey>,
    /// Every piece holds the words of this checkpoint or of a later one: the deltas after it are there.
    pub(crate) oldest: u64,
    /// The piece that is written next.
    pub(crate) next_piece: u64,
}
