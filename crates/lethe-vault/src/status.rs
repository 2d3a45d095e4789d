//! The figures of a vault in service that the owner may know. The provider does not see some of them: those are for the
//! owner alone.

use crate::pace::PaceFigures;

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
    /// Blocks on the trusted side (stash and tree top). For the owner alone.
    pub stash_blocks: u64,
    /// The same when last nothing was in flight: this counts against the stash's bound. For the owner alone.
    pub stash_at_rest: u64,
    /// The most blocks that there were since the vault was opened. For the owner alone.
    pub stash_peak: u64,
    /// Bytes of trusted memory: position map, stash and tree top, metadata, versions.
    pub trusted_bytes: u64,
    /// Bytes written to the journal on the trusted disk since the vault was opened.
    pub journal_bytes: u64,
    /// Bytes of checkpoints written to the trusted disk since the vault was opened.
    pub checkpoint_bytes: u64,
    /// The last checkpoint on the trusted disk.
    pub checkpoint: u64,
    /// The last checkpoint in the store; 0 if none has got there yet.
    pub shipped_checkpoint: u64,
    /// The accesses since the last checkpoint. A lost machine would lose at most these and those between the two
    /// checkpoints.
    pub accesses_since_checkpoint: u64,
    /// The receipt of the last shipped checkpoint.
    pub receipt: Option<String>,
    /// Replaced bucket versions that are still kept.
    pub old_versions: u64,
    /// Bytes of rows used. For the owner alone.
    pub rows_used: u64,
    /// Bytes of rows reserved.
    pub rows_reserved: u64,
    /// The way the pace was kept, if there is one. How much was asked for is for the owner alone.
    pub pace: Option<PaceFigures>,
}
