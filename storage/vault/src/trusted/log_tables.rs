//! The part of the trusted disk that a vault with its journal in the store has besides: the changes of rows that the store
//! may not hold yet, and the note of the objects begun. Both change together with what they are about.

use super::commit_group::{Change, QueuedChange};
use super::disk::TrustedDisk;
use super::row::RowChange;
use super::unlogged::CommitId;
use super::unlogged_table;
use crate::error::VaultError;

impl TrustedDisk {
    /// Takes in changes of rows with the commit, sealed, that is kept until the store holds it; those up to `logged` are
    /// forgotten.
    pub(crate) fn enqueue_rows_with_commit(
        &self,
        changes: Vec<RowChange>,
        commit: Option<(CommitId, Vec<u8>)>,
        logged: CommitId,
    ) -> QueuedChange {
        self.enqueue(Change::RowsWithCommit { changes, commit, logged })
    }

    /// Appends records with a note of the object that goes with them, and forgets the commits up to `logged`; durable
    /// when this returns.
    pub(crate) fn append_with_note(
        &self,
        records: Vec<(u64, Vec<u8>)>,
        (name, note): (&'static str, Vec<u8>),
        logged: CommitId,
    ) -> Result<(), VaultError> {
        self.commit(self.enqueue(Change::RecordsWithNote { records, name, note, logged }))
    }

    /// The commits that are kept, sealed, in their order.
    pub(crate) fn unlogged_commits(&self) -> Result<Vec<(CommitId, Vec<u8>)>, VaultError> {
        self.with_read(unlogged_table::read_commits)
    }
}
