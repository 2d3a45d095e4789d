//! The point of the journal at which a checkpoint was made.

use super::position::Position;
use crate::engine::scheme::Seed;
use borsh::{BorshDeserialize, BorshSerialize};

/// The point of the vault's journal at which a checkpoint was made. Its records from here on continue the checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct JournalPoint {
    /// The first object of the journal in the store that the checkpoint does not hold, if there is such a journal.
    pub(crate) object: Option<Position>,
    /// The number of the next record.
    pub(crate) sequence: u64,
    /// The seed from which the scheme continues; secret.
    pub(crate) seed: Seed,
}
