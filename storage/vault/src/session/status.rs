//! The figures of a served vault, for its owner. Some of them are hidden from the provider: only the owner may see
//! them.

use super::pace::PaceFigures;
use crate::store_space::StoreFigures;
use crate::trusted::checkpoint_bytes::CheckpointBytes;
use crate::trusted::disk_reserve::ReserveFigures;
use std::time::Duration;
use tokio::time::Instant;

/// The figures of a vault at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    // Wide: a field for each part of a vault.
    /// The epoch of this opening.
    pub epoch: u32,
    /// The number of accesses since the vault was made, dummies included. Public.
    pub accesses: u64,
    /// Off-line steps that are pending or in flight. A step that has started and waits for its turn counts as both. It
    /// is 0 if and only if there are none. Public.
    pub evictions_pending: u64,
    /// The number of evictions outside of the schedule. Expected to stay 0.
    pub emergencies: u64,
    /// The blocks on the trusted side. Only the owner may see them.
    pub stash: StashFigures,
    /// The number of bytes of trusted memory: position map, stash and tree top, metadata, versions.
    pub trusted_bytes: u64,
    /// The number of bytes written to the journal on the trusted disk since the vault was opened.
    pub journal_bytes: u64,
    /// The times of this opening.
    pub opening: OpeningFigures,
    /// The checkpoints on the trusted disk and in the store.
    pub checkpoints: CheckpointFigures,
    /// Replaced bucket versions that still exist.
    pub old_versions: u64,
    /// The table of rows.
    pub rows: RowFigures,
    /// The reserve of the trusted disk, for a full disk.
    pub reserve: ReserveFigures,
    /// The space of the store. Public.
    pub store: StoreFigures,
    /// The journal in the store, if the vault has one. Public.
    pub log: Option<LogFigures>,
    /// The change of the vault's key, while it runs. Public.
    pub key_change: Option<KeyChangeFigures>,
    /// The figures of the pace, if there is one. Only the owner may see the number of requested accesses.
    pub pace: Option<PaceFigures>,
}

/// The blocks in stash and tree top. Only the owner may see them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StashFigures {
    /// The current number of blocks.
    pub blocks: u64,
    /// The number of blocks when nothing was in flight last. This one counts against the stash's bound.
    pub at_rest: u64,
    /// The maximum number of blocks since the vault was opened.
    pub peak: u64,
}

/// The duration of an opening, by purpose. Opening the database file itself is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpeningFigures {
    /// The number of journal records that were replayed.
    pub records: u64,
    /// The time to read the trusted state, with its stash.
    pub state: Duration,
    /// The time to read and replay the journal.
    pub journal: Duration,
    /// The time of requests to the store: for the header, for newer epochs, for the list of its objects.
    pub store: Duration,
}

/// The checkpoints on the trusted disk and in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointFigures {
    /// The number of the last checkpoint on the trusted disk.
    pub newest: u64,
    /// The number of the last checkpoint in the store; 0 before the first.
    pub shipped: u64,
    /// The receipt of the last checkpoint in the store.
    pub receipt: Option<String>,
    /// The accesses since the last checkpoint on the trusted disk.
    pub accesses_since: u64,
    /// The accesses that the last checkpoint in the store does not hold. A lost machine would lose them, unless its
    /// journal is in the store. It is an upper bound until this opening has shipped a checkpoint, and exact from then
    /// on.
    pub unshipped: u64,
    /// The time at which the last checkpoint was made that this opening has shipped: the store lacks what came after it.
    pub shipped_at: Option<Instant>,
    /// The time since which the store lacks accesses, if it lacks any: that of the first one, or earlier.
    pub lacking_since: Option<Instant>,
    /// The checkpoint that is on its way to the store, if there is one. Public.
    pub upload: Option<UploadFigures>,
    /// The number of bytes that checkpoints have written to the trusted disk since the vault was opened.
    pub bytes: u64,
    /// The bytes of the checkpoint by kind.
    pub by_kind: CheckpointBytes,
    /// The number of pieces in which the words of the state are written.
    pub pieces: u64,
}

/// The accesses that the journal in the store lacks. No caller was told that this is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogFigures {
    /// The accesses of the batch whose object is on its way to the store; 0 if there is none.
    pub lag: u64,
    /// The time at which that batch started.
    pub since: Option<Instant>,
}

/// The progress of a checkpoint on its way to the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UploadFigures {
    /// The number of bytes that have arrived, without the seals.
    pub sent: u64,
    /// The number of all bytes.
    pub of: u64,
}

/// The progress of a change of the vault's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyChangeFigures {
    /// The number of buckets before the sweep's position: the earlier key opens none of them.
    pub passed: u64,
    /// The number of all buckets.
    pub of: u64,
}

/// The bytes of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowFigures {
    /// The bytes used. Only the owner may see them.
    pub used: u64,
    /// The bytes reserved.
    pub reserved: u64,
}

impl RowFigures {
    /// The bytes that are free.
    pub fn free(&self) -> u64 {
        self.reserved.saturating_sub(self.used)
    }
}
