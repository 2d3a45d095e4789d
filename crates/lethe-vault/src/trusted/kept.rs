//! The table of the commits of rows that the journal in the store may not hold yet.

use super::pieces::pieces;
use super::unlogged::CommitId;
use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError, WriteTransaction};

/// Commits of rows, sealed, in pieces, by number.
const UNLOGGED: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("unlogged");

/// The commits that are kept, sealed, in their order.
pub(super) fn commits(transaction: &ReadTransaction) -> Result<Vec<(CommitId, Vec<u8>)>, redb::Error> {
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
