//! The trusted state on the trusted disk, as a [`CheckpointWriter`](super::checkpoint_writer) writes it: its tables,
//! and their changes.

use super::checkpoint_writer::CheckpointWrite;
use super::chunks::chunks;
use super::disk::TrustedDisk;
use super::journal::RecordsThen;
use super::row::Row;
use super::state_tables::{DELTAS, GARBAGE, SUMMARY, StateTable, WORDS};
use super::unlogged_commits::CommitId;
use crate::error::VaultError;
use ameles_core::types::Bytes;
use redb::{ReadableTable, Table, WriteTransaction};
use std::ops::RangeBounds;

/// Everything on a trusted disk, sealed with another key.
pub(crate) struct Resealed {
    /// The state of the last checkpoint. The next checkpoint writes it in full.
    pub(crate) state: CheckpointWrite,
    /// The records after the checkpoint.
    pub(crate) journal: Vec<(u64, Vec<u8>)>,
    pub(crate) rows: Vec<Row>,
    /// The changes of rows that the journal in the store may not hold yet.
    pub(crate) unlogged: Vec<(CommitId, Vec<u8>)>,
    /// The values by name: the headers of an exchange.
    pub(crate) metas: Vec<(&'static str, Vec<u8>)>,
}

impl TrustedDisk {
    /// Makes a checkpoint durable. First writes the payloads. Then writes everything that names them in one
    /// transaction. It drops the records of the journal, and makes the changes of rows that wait there.
    pub(crate) fn commit_state(&self, block: Bytes, write: &CheckpointWrite) -> Result<(), VaultError> {
        self.write_slots(block, &write.writes)?;
        self.write(RecordsThen::Drop, |transaction| write_state(transaction, write))
    }

    /// Replaces everything by its resealed form in one transaction. Afterwards only the new key opens this disk.
    pub(crate) fn reseal(&self, block: Bytes, resealed: &Resealed) -> Result<(), VaultError> {
        let Resealed { state, journal, rows, unlogged, metas } = resealed;
        self.write_slots(block, &state.writes)?;
        self.write(RecordsThen::Drop, |transaction| {
            write_state(transaction, state)?;
            super::database_changes::append(transaction, journal)?;
            super::database_changes::replace_rows(transaction, rows)?;
            super::unlogged_table::replace(transaction, unlogged)?;
            super::database_changes::set_metas(transaction, metas)
        })
    }

    /// Reads the values of a table in the order of their numbers, and passes each to `each`.
    pub(crate) fn read_table(
        &self,
        part: StateTable,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), VaultError>,
    ) -> Result<(), VaultError> {
        let mut refused = None;
        self.with_read(|transaction| {
            let mut value: Option<(u64, Vec<u8>)> = None;
            let mut hand_over = |value: Option<(u64, Vec<u8>)>| match value {
                Some((number, bytes)) if refused.is_none() => refused = each(number, &bytes).err(),
                _ => {}
            };
            for entry in transaction.open_table(part.table())?.iter()? {
                let (key, chunk) = entry?;
                // A missing chunk shows when the value is opened.
                let (number, _) = key.value();
                match &mut value {
                    Some((last, bytes)) if *last == number => bytes.extend_from_slice(chunk.value()),
                    _ => hand_over(value.replace((number, chunk.value().to_vec()))),
                }
            }
            hand_over(value);
            Ok(())
        })?;
        refused.map_or(Ok(()), Err)
    }
}

/// Writes the changes of a checkpoint, and clears the journal.
fn write_state(transaction: &WriteTransaction, write: &CheckpointWrite) -> Result<(), redb::Error> {
    super::database_changes::clear_journal(transaction)?;
    if write.is_whole {
        for part in StateTable::ALL {
            transaction.delete_table(part.table())?;
            transaction.open_table(part.table())?;
        }
    }
    let mut words = transaction.open_table(WORDS)?;
    for (piece, sealed) in &write.pieces {
        put(&mut words, *piece, &[&write.number.to_le_bytes(), &sealed[..]].concat())?;
    }
    let mut deltas = transaction.open_table(DELTAS)?;
    put(&mut deltas, write.number, &write.delta)?;
    remove(&mut deltas, ..=(write.oldest, u32::MAX))?;
    let mut garbage = transaction.open_table(GARBAGE)?;
    if let Some(sealed) = &write.garbage {
        put(&mut garbage, write.number - 1, sealed)?;
    }
    remove(&mut garbage, ..(write.garbage_from, 0))?;
    put(&mut transaction.open_table(SUMMARY)?, 0, &write.summary)
}

fn put(
    table: &mut Table<'_, (u64, u32), &'static [u8]>,
    number: u64,
    value: &[u8],
) -> Result<(), redb::Error> {
    let mut end = 0;
    for (nth, chunk) in (0..).zip(chunks(value)) {
        table.insert((number, nth), chunk)?;
        end = nth + 1;
    }
    // The previous value may have been longer.
    remove(table, (number, end)..=(number, u32::MAX))
}

fn remove(
    table: &mut Table<'_, (u64, u32), &'static [u8]>,
    range: impl RangeBounds<(u64, u32)>,
) -> Result<(), redb::Error> {
    Ok(table.retain_in(range, |_, _| false)?)
}
