//! The table of commits of rows that the journal in the store may not hold yet.

use super::chunks::{self, ChunksTable};
use super::unlogged_commits::CommitId;
use redb::{ReadTransaction, TableError, WriteTransaction};

/// Sealed commits of rows, in chunks, by number.
const UNLOGGED: ChunksTable = ChunksTable::new("unlogged");

/// Reads the sealed commits, in order.
pub(super) fn read_commits(transaction: &ReadTransaction) -> Result<Vec<(CommitId, Vec<u8>)>, redb::Error> {
    let table = match transaction.open_table(UNLOGGED) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        table => table?,
    };
    chunks::read_values(&table)
}

/// Adds commits, and deletes those up to `logged`.
pub(super) fn update(
    transaction: &WriteTransaction,
    commits: &[(CommitId, Vec<u8>)],
    logged: CommitId,
) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(UNLOGGED)?;
    table.retain_in(..=(logged, u32::MAX), |_, _| false)?;
    chunks::insert_values(&mut table, commits)
}

/// Replaces all commits.
pub(super) fn replace(
    transaction: &WriteTransaction,
    commits: &[(CommitId, Vec<u8>)],
) -> Result<(), redb::Error> {
    if commits.is_empty() {
        return Ok(());
    }
    transaction.delete_table(UNLOGGED)?;
    update(transaction, commits, 0)
}
