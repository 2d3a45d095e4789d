//! The figures of a vault in service that the owner may know. The provider does not see some of them: those are for the
//! owner alone.

use super::pace::PaceFigures;
use crate::store_room::StoreFigures;
use crate::trusted::checkpoint_bytes::CheckpointBytes;
use crate::trusted::room::RoomFigures;
use std::time::Duration;

/// A vault's figures at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The epoch of this opening.
    pub epoch: u32,
    /// Accesses since the vault was made, dummies included. Public.
    pub accesses: u64,
    /// Steps of off-line work that are owed or in flight; a step that is begun and waits for its turn counts as both. 0
    /// just when there are none. Public.
    pub evictions_owed: u64,
    /// Evictions outside of the schedule: expected to be 0 forever.
    pub emergencies: u64,
    /// Blocks on the trusted side. For the owner alone.
    pub stash: StashFigures,
    /// Bytes of trusted memory: position map, stash and tree top, metadata, versions.
    pub trusted_bytes: u64,
    /// Bytes written to the journal on the trusted disk since the vault was opened.
    pub journal_bytes: u64,
    /// The time that this opening took.
    pub opening: OpeningFigures,
    /// The checkpoints on either side.
    pub checkpoints: CheckpointFigures,
    /// Replaced bucket versions that are still kept.
    pub old_versions: u64,
    /// The table of rows.
    pub rows: RowFigures,
    /// The room that is kept on the trusted disk for when it is full.
    pub room: RoomFigures,
    /// The room of the store. Public.
    pub store: StoreFigures,
    /// The change of the vault's key, while one is under way. Public.
    pub key_change: Option<KeyChangeFigures>,
    /// The way the pace was kept, if there is one. How much was asked for is for the owner alone.
    pub pace: Option<PaceFigures>,
}

/// The blocks in stash and tree top. For the owner alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StashFigures {
    /// The blocks there are.
    pub blocks: u64,
    /// The blocks when last nothing was in flight: this counts against the stash's bound.
    pub at_rest: u64,
    /// The most blocks that there were since the vault was opened.
    pub peak: u64,
}

/// The time that an opening took, by what it was for; that of the database file itself is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpeningFigures {
    /// The records of the journal that were replayed.
    pub records: u64,
    /// The time of reading the trusted state, with its stash.
    pub state: Duration,
    /// The time of reading the journal and replaying it.
    pub journal: Duration,
    /// The time of asking the store: for the header, for newer epochs, for the list of what it holds.
    pub store: Duration,
}

/// The checkpoints on the trusted disk and in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointFigures {
    /// The number of the last one on the trusted disk.
    pub newest: u64,
    /// The number of the last one in the store; 0 if none has got there yet.
    pub shipped: u64,
    /// The receipt of the last one in the store.
    pub receipt: Option<String>,
    /// The accesses since the last one on the trusted disk.
    pub accesses_since: u64,
    /// The accesses that the last one in the store does not hold: what a lost machine would lose, unless its journal is in
    /// the store. At most so many until one has got there in this opening, exact from then on.
    pub unshipped: u64,
    /// Bytes written to the trusted disk for them since the vault was opened.
    pub bytes: u64,
    /// The same bytes by kind.
    pub by_kind: CheckpointBytes,
    /// The pieces in which the words of the state are written, one after the other.
    pub pieces: u64,
}

/// The progress of a change of the vault's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyChangeFigures {
    /// The buckets before which none is left that the earlier key opens.
    pub passed: u64,
    /// All buckets.
    pub of: u64,
}

/// The bytes of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowFigures {
    /// The bytes used. For the owner alone.
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
