//! The tables of the database besides the trusted state, and the changes of their entries.

use super::changed_rows;
use super::chunks::{self, ChunksTable};
use super::commit_group::Change;
use super::journal::{ChangesForDatabase, JournalMark};
use super::long_notes;
use super::row::{Row, RowChange};
use super::unlogged_table;
use redb::{ReadTransaction, TableDefinition, WriteTransaction};
use std::io::{Error, ErrorKind};

pub(super) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// The records that a transaction has moved out of the journal's file.
pub(super) const JOURNAL: ChunksTable = ChunksTable::new("journal");
pub(super) const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

/// The name of the journal's mark, in the table `meta`.
const MARK: &str = "journal";

/// Reads a value by name.
pub(super) fn read_meta(transaction: &ReadTransaction, name: &str) -> Result<Option<Vec<u8>>, redb::Error> {
    if let Some(note) = read_long(transaction, name)? {
        return Ok(Some(note));
    }
    let table = transaction.open_table(META)?;
    Ok(table.get(name)?.map(|value| value.value().to_vec()))
}

/// Reads the long note of this name, if there is one.
fn read_long(transaction: &ReadTransaction, name: &str) -> Result<Option<Vec<u8>>, redb::Error> {
    if long_notes::is_long(name) { long_notes::read(transaction, name) } else { Ok(None) }
}

/// Reads the mark of the journal; `None` before the journal has a file.
pub(super) fn read_mark(transaction: &ReadTransaction) -> Result<Option<JournalMark>, redb::Error> {
    let mark = read_meta(transaction, MARK)?.map(|mark| borsh::from_slice(&mark));
    mark.transpose()
        .map_err(|_| Error::new(ErrorKind::InvalidData, "the mark of its journal is damaged").into())
}

/// Makes the changes of the journal that the database does not hold, and sets the mark. Changes of rows are noted under
/// `row_mark`.
pub(super) fn take_over(
    transaction: &WriteTransaction,
    journal: &ChangesForDatabase,
    row_mark: u64,
) -> Result<(), redb::Error> {
    let ChangesForDatabase { changes, applied, records, mark } = journal;
    changes.after(*applied).try_for_each(|change| apply_change(transaction, change, row_mark))?;
    append(transaction, records)?;
    set_mark(transaction, mark)
}

/// Sets the mark of the journal.
pub(super) fn set_mark(transaction: &WriteTransaction, mark: &JournalMark) -> Result<(), redb::Error> {
    let mark = borsh::to_vec(mark).expect("a write to memory does not fail");
    set_metas(transaction, &[(MARK, mark)])
}

/// Makes a change. Rows that change are noted under `row_mark`.
pub(super) fn apply_change(
    transaction: &WriteTransaction,
    change: &Change,
    row_mark: u64,
) -> Result<(), redb::Error> {
    match change {
        Change::Records(records) => append(transaction, records),
        Change::Rows(changes) => put_rows(transaction, changes, row_mark),
        Change::RowsWithCommit { changes, commit, logged } => {
            put_rows(transaction, changes, row_mark)?;
            unlogged_table::update(transaction, commit.as_slice(), *logged)
        }
        Change::RecordsWithNote { records, name, note, logged } => {
            append(transaction, records)?;
            set_metas(transaction, &[(name, note)])?;
            unlogged_table::update(transaction, &[], *logged)
        }
    }
}

/// Sets values by name.
pub(super) fn set_metas<V: AsRef<[u8]>>(
    transaction: &WriteTransaction,
    values: &[(&str, V)],
) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    for (name, value) in values {
        if long_notes::is_long(name) {
            long_notes::set(transaction, name, value.as_ref())?;
            // Earlier versions had all notes in one table.
            meta.remove(*name)?;
        } else {
            meta.insert(*name, value.as_ref())?;
        }
    }
    Ok(())
}

/// Appends records.
pub(super) fn append(transaction: &WriteTransaction, records: &[(u64, Vec<u8>)]) -> Result<(), redb::Error> {
    chunks::insert_values(&mut transaction.open_table(JOURNAL)?, records)
}

fn put_rows(transaction: &WriteTransaction, changes: &[RowChange], row_mark: u64) -> Result<(), redb::Error> {
    changed_rows::note(transaction, row_mark, changes)?;
    let mut rows = transaction.open_table(ROWS)?;
    for RowChange { key, value } in changes {
        match value {
            Some(value) => rows.insert(key.as_ref(), value.as_ref())?,
            None => rows.remove(key.as_ref())?,
        };
    }
    Ok(())
}

/// Replaces all rows, under other hashes. The next checkpoint in the store sends all of them.
pub(super) fn replace_rows(transaction: &WriteTransaction, rows: &[Row]) -> Result<(), redb::Error> {
    changed_rows::clear(transaction)?;
    transaction.delete_table(ROWS)?;
    let mut table = transaction.open_table(ROWS)?;
    for Row { key, value } in rows {
        table.insert(key.as_ref(), value.as_ref())?;
    }
    Ok(())
}

/// Drops the records that were moved out of the journal's file.
pub(super) fn clear_journal(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.delete_table(JOURNAL)?;
    transaction.open_table(JOURNAL)?;
    Ok(())
}
