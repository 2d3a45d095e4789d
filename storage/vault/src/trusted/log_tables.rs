//! The tables of a vault with its journal in the store: changes of rows that the store may not hold yet, and the note
//! of the log objects. They change in the same transactions as the rows and records.

use super::commit_group::{Change, QueuedChange};
use super::disk::TrustedDisk;
use super::row::RowChange;
use super::unlogged_commits::CommitId;
use crate::error::VaultError;

impl TrustedDisk {
    /// Adds changes of rows to the queue, with their sealed commit, which is kept until the store holds it. Commits up
    /// to `logged` are deleted.
    pub(crate) fn enqueue_rows_with_commit(
        &self,
        changes: Vec<RowChange>,
        commit: Option<(CommitId, Vec<u8>)>,
        logged: CommitId,
    ) -> QueuedChange {
        self.enqueue(Change::RowsWithCommit { changes, commit, logged })
    }

    /// Adds records with a note of their log object to the queue. Commits up to `logged` are deleted.
    pub(crate) fn enqueue_records_with_note(
        &self,
        records: Vec<(u64, Vec<u8>)>,
        (name, note): (&'static str, Vec<u8>),
        logged: CommitId,
    ) -> QueuedChange {
        self.enqueue(Change::RecordsWithNote { records, name: name.to_owned(), note, logged })
    }

    /// The sealed commits, in order.
    pub(crate) fn unlogged_commits(&self) -> Result<Vec<(CommitId, Vec<u8>)>, VaultError> {
        self.snapshot()?.unlogged_commits()
    }
}
