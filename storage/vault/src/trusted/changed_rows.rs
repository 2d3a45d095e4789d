//! The table of the rows that changed since checkpoints were sent to the store: hashes of keys, by mark.
//!
//! A mark is a number that grows with each shipment. A transaction that changes rows adds their hashes under the mark
//! of its time. So after a kill the trusted disk still knows which rows the store lacks.

use super::row::RowChange;
use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError, WriteTransaction};
use std::collections::BTreeMap;

/// The hashes of the keys of changed rows, after their marks.
const CHANGED: TableDefinition<'_, (u64, &[u8]), ()> = TableDefinition::new("changed-rows");
/// The name of the last mark whose rows a checkpoint in the store has, in the table `meta`.
pub(super) const SENT: &str = "sent-rows";

/// Reads the mark under which changes are noted: higher than the last one that was sent.
pub(super) fn read_mark(transaction: &ReadTransaction, sent: Option<Vec<u8>>) -> Result<u64, redb::Error> {
    let sent = sent.and_then(|mark| Some(u64::from_le_bytes(mark.try_into().ok()?))).unwrap_or(0);
    let last = match transaction.open_table(CHANGED) {
        Err(TableError::TableDoesNotExist(_)) => 0,
        table => table?.last()?.map_or(0, |(key, _)| key.value().0),
    };
    Ok(last.max(sent + 1))
}

/// Creates the table.
pub(super) fn create(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(CHANGED)?;
    Ok(())
}

/// Notes rows that change.
pub(super) fn note(
    transaction: &WriteTransaction,
    mark: u64,
    changes: &[RowChange],
) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(CHANGED)?;
    for change in changes {
        table.insert((mark, change.key.as_ref()), ())?;
    }
    Ok(())
}

/// Forgets the changes up to a mark.
pub(super) fn forget(transaction: &WriteTransaction, mark: u64) -> Result<(), redb::Error> {
    Ok(transaction.open_table(CHANGED)?.retain_in(..(mark + 1, &[][..]), |_, ()| false)?)
}

/// Forgets all changes.
pub(super) fn clear(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.delete_table(CHANGED)?;
    create(transaction)
}

/// Reads the hashes that were noted under later marks than this one, each with its last mark.
pub(super) fn read_after(
    transaction: &ReadTransaction,
    mark: u64,
) -> Result<BTreeMap<Vec<u8>, u64>, redb::Error> {
    let mut changed = BTreeMap::new();
    for entry in transaction.open_table(CHANGED)?.range((mark + 1, &[][..])..)? {
        let (key, _) = entry?;
        let (mark, hash) = key.value();
        changed.insert(hash.to_vec(), mark);
    }
    Ok(changed)
}
