//! The interface of a scheme that can be saved and restored: after a restart, in another process.

use crate::oram::Oram;
use borsh::{BorshDeserialize, BorshSerialize};
use core::error::Error;

/// An oblivious RAM that can be saved and restored, over the store as it was when it was saved. All that it must
/// remember is in its snapshot: parameters, position map, stash. `R` is the randomness that it draws from.
pub trait FullSnapshot<R>: Oram + Sized {
    /// The store of the ORAM's blocks.
    type Store;
    /// The trusted state between two steps.
    type Snapshot: BorshSerialize + BorshDeserialize;
    /// The reason why parameters are refused.
    type ParametersError: Error + 'static;

    /// The trusted state.
    ///
    /// # Errors
    /// [`SnapshotError::InFlight`], [`SnapshotError::Poisoned`].
    fn snapshot(&self) -> Result<Self::Snapshot, SnapshotError<Self::ParametersError>>;

    /// Restores the scheme from a snapshot, over the store as it was when the snapshot was taken.
    ///
    /// # Errors
    /// [`SnapshotError::Parameters`], [`SnapshotError::Mismatch`].
    fn restore(
        snapshot: Self::Snapshot,
        store: Self::Store,
        random: R,
    ) -> Result<Self, SnapshotError<Self::ParametersError>>;

    /// Replaces the randomness: a restored state must not draw what it drew before.
    fn reseed(&self, random: R);

    /// Returns the number of blocks in the stash now, the trusted top included. Secret: it depends on the requests.
    fn stash_blocks(&self) -> usize;

    /// Returns the number of bytes on the trusted side.
    fn trusted_bytes(&self) -> usize;
}

/// The reason why a scheme cannot be saved now, or cannot continue from a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError<P: Error + 'static> {
    /// Something is in flight.
    #[error("an access or a step is unfinished: poll it to completion, then take the snapshot")]
    InFlight,
    /// An operation failed or was dropped half-way.
    #[error("an operation failed or was dropped half-way: go back to an earlier snapshot")]
    Poisoned,
    /// The snapshot contradicts itself, or is not one of a scheme with these parameters.
    #[error(
        "the snapshot does not fit the parameters: restore it with the parameters under which it was taken"
    )]
    Mismatch,
    /// The parameters themselves are wrong.
    #[error(transparent)]
    Parameters(#[from] P),
}
