//! The part of the trusted disk that a vault with its journal in the store has besides: the changes of rows that the store
//! may not hold yet, and the note of the objects begun. Both change together with what they are about.

use super::disk::TrustedDisk;
use super::group::{Change, Entered};
use super::pieces::pieces;
use super::row::RowChange;
use super::unlogged::CommitId;
use crate::error::VaultError;
use redb::{ReadableTable, TableDefinition, TableError, WriteTransaction};

/// Commits of rows, sealed, in pieces, by number.
const UNLOGGED: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("unlogged");

impl TrustedDisk {
    /// Takes in changes of rows with the commit, sealed, that is kept until the store holds it; those up to `logged` are
    /// forgotten.
    pub(crate) fn enter_rows_and_keep(
        &self,
        changes: Vec<RowChange>,
        commit: Option<(CommitId, Vec<u8>)>,
        logged: CommitId,
    ) -> Entered {
        self.enter(Change::KeptRows { changes, commit, logged })
    }

    /// Appends records with a note of the object that goes with them, and forgets the commits up to `logged`; durable
    /// when this returns.
    pub(crate) fn append_with_note(
        &self,
        records: Vec<(u64, Vec<u8>)>,
        (name, note): (&'static str, Vec<u8>),
        logged: CommitId,
    ) -> Result<(), VaultError> {
        self.commit(self.enter(Change::Noted { records, name, note, logged }))
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

/// Keeps commits, and forgets those up to `logged`.
pub(super) fn keep(
    transaction: &WriteTransaction,
    commits: &[(CommitId, Vec<u8>)],
    logged: CommitId,
) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(UNLOGGED)?;
    table.retain_in(..=(logged, u32::MAX), |_, _| false)?;
    for (id, sealed) in commits {
        for (nth, piece) in (0..).zip(pieces(sealed)) {
            table.insert((*id, nth), piece)?;
        }
    }
    Ok(())
}

/// Puts these commits in the place of all that are kept.
pub(super) fn replace(
    transaction: &WriteTransaction,
    commits: &[(CommitId, Vec<u8>)],
) -> Result<(), redb::Error> {
    if commits.is_empty() {
        return Ok(());
    }
    transaction.delete_table(UNLOGGED)?;
    keep(transaction, commits, 0)
}
