//! The part of the trusted disk that a vault with its journal in the store has besides: the changes of rows that the store
//! may not hold yet, and the note of the objects begun. Both change together with what they are about.

use super::disk::TrustedDisk;
use super::pieces::pieces;
use super::row::RowChange;
use super::unlogged::CommitId;
use crate::error::VaultError;
use redb::{ReadableTable, TableDefinition, TableError, WriteTransaction};

/// Commits of rows, sealed, in pieces, by number.
const UNLOGGED: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("unlogged");

impl TrustedDisk {
    /// Changes rows, and keeps the commit, sealed, until the store holds it; forgets those up to `logged`. All in one
    /// step, durable when this returns.
    pub(crate) fn change_rows_and_keep(
        &self,
        changes: &[RowChange],
        commit: Option<(CommitId, &[u8])>,
        logged: CommitId,
    ) -> Result<(), VaultError> {
        self.change(|transaction| {
            super::disk::put_rows(transaction, changes)?;
            forget(transaction, logged)?;
            let mut table = transaction.open_table(UNLOGGED)?;
            if let Some((id, sealed)) = commit {
                for (nth, piece) in (0..).zip(pieces(sealed)) {
                    table.insert((id, nth), piece)?;
                }
            }
            Ok(())
        })
    }

    /// Appends records with a note of the object that goes with them, and forgets the commits up to `logged`; durable
    /// when this returns.
    pub(crate) fn append_with_note(
        &self,
        records: &[(u64, Vec<u8>)],
        (name, note): (&str, &[u8]),
        logged: CommitId,
    ) -> Result<(), VaultError> {
        self.change(|transaction| {
            super::disk::put_records(transaction, records)?;
            super::disk::put_meta(transaction, name, note)?;
            forget(transaction, logged)
        })
    }

    /// The commits that are kept, sealed, in their order.
    pub(crate) fn unlogged(&self) -> Result<Vec<(CommitId, Vec<u8>)>, VaultError> {
        self.look(|transaction| {
            let table = match transaction.open_table(UNLOGGED) {
                Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
                table => table?,
            };
            let mut commits: Vec<(CommitId, Vec<u8>)> = Vec::new();
            for entry in table.iter()? {
                let (key, piece) = entry?;
                let (id, _) = key.value();
                match commits.last_mut() {
                    Some((last, commit)) if *last == id => commit.extend_from_slice(piece.value()),
                    _ => commits.push((id, piece.value().to_vec())),
                }
            }
            Ok(commits)
        })
    }
}

fn forget(transaction: &WriteTransaction, logged: CommitId) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(UNLOGGED)?;
    Ok(table.retain_in(..=(logged, u32::MAX), |_, _| false)?)
}
