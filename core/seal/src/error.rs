//! Errors of sealed memory.

use ameles_core::store::{BucketVersion, Place, UntrustedError};

/// Errors between the scheme and untrusted memory. After an error there is no result.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The bytes were not sealed for this slot and version. The store changed, swapped or replayed them, or the master
    /// key is another vault's.
    #[error(
        "{slot} ({version}) was forged: the store returned bytes that were not sealed for it with this key",
        slot = .0.slot, version = .0.version
    )]
    Forged(Place),
    /// The bucket was written and its version is gone: removed by the store's side. A bucket that was never written
    /// is known by its trusted version, and is not an error.
    #[error(
        "{slot} ({version}) was removed: it was written, and the store no longer has it",
        slot = .0.slot, version = .0.version
    )]
    Missing(Place),
    /// The bucket's version is shorter than it was written.
    #[error("{slot} ({version}) was truncated in the store", slot = .0.slot, version = .0.version)]
    Truncated(Place),
    /// The epoch of the requested version is not in the trusted epoch table.
    #[error("{version} of {bucket} belongs to an epoch that the trusted state does not know", bucket = .0.bucket, version = .0.version)]
    UnknownEpoch(BucketVersion),
    /// No epoch has begun, so nothing can be written.
    #[error("no epoch has begun: begin one before writing")]
    NoEpoch,
    /// An epoch must be newer than every one before it, and have its own salt.
    #[error("epoch {asked} cannot begin: its number must be above {newest} and its salt new")]
    EpochNotNew {
        /// The requested number.
        asked: u32,
        /// The newest epoch so far.
        newest: u32,
    },
    /// The epoch has no counters left. Nothing was changed; begin a new epoch.
    #[error("epoch {epoch} has no write counters left: begin a new one")]
    CounterExhausted {
        /// The exhausted epoch.
        epoch: u32,
    },
    /// A version can be sealed once, in the opening that assigned it: its nonce must not be used again.
    #[error("{version} of {bucket} was already sealed, or was not assigned since the vault was opened: assign a new version", bucket = .0.bucket, version = .0.version)]
    NotSealable(BucketVersion),
    /// The trusted versions belong to another layout.
    #[error("the trusted versions are for {found} buckets, but the store has {expected}")]
    OtherLayout {
        /// The number of buckets in the trusted versions.
        found: u64,
        /// The number of buckets in the store's layout.
        expected: u64,
    },
    /// The store's slots are too small to hold a tag.
    #[error("the store's slots of {slot_bytes} bytes are shorter than the sealing overhead")]
    SlotsTooSmall {
        /// The number of sealed bytes of a slot.
        slot_bytes: u32,
    },
    /// The store failed or refused.
    #[error(transparent)]
    Store(UntrustedError),
}
