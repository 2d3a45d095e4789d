//! The outcome of the objects of a journal, one after the other: the last payload of each block that was written, and the
//! last value of each row that was changed.

use super::entry::Entry;
use crate::engine::record::Call;
use crate::error::VaultError;
use crate::trusted::position::Position;
use crate::trusted::row::{Row, RowChange};
use crate::trusted::unlogged::RowStream;
use ameles_core::types::BlockId;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};

/// See the module.
#[derive(Default)]
pub(crate) struct MergedLog {
    writes: HashMap<BlockId, Bytes>,
    rows: BTreeMap<Bytes, Option<Bytes>>,
    epoch: u32,
    /// The objects of an opening that is not complete.
    opening: Vec<Entry>,
    stream: RowStream,
}

impl MergedLog {
    /// Takes the next object.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if it does not follow from those before it.
    pub(crate) fn take(&mut self, at: Position, entry: Entry) -> Result<(), VaultError> {
        if at.epoch != self.epoch {
            self.epoch = at.epoch;
            // An opening that was cut off has answered nothing. A commit that was cut off is in the next opening's.
            (self.opening, self.stream) = Default::default();
        }
        let contradicts = || {
            let why = format!("{} contradicts the objects of the journal before it", at.name());
            VaultError::Tampered(why.into())
        };
        match entry.opening {
            Some((nth, of)) => {
                if nth as usize != self.opening.len() || nth >= of {
                    return Err(contradicts());
                }
                self.opening.push(entry);
                if nth + 1 == of {
                    for entry in std::mem::take(&mut self.opening) {
                        self.apply(entry).ok_or_else(contradicts)?;
                    }
                }
                Ok(())
            }
            None if self.opening.is_empty() => self.apply(entry).ok_or_else(contradicts),
            None => Err(contradicts()),
        }
    }

    fn apply(&mut self, entry: Entry) -> Option<()> {
        for call in entry.calls {
            if let Call::Write(block, payload) = call {
                self.writes.insert(block, payload);
            }
        }
        for RowChange { key, value } in self.stream.take(&entry.rows)?.into_iter().flatten() {
            self.rows.insert(key, value);
        }
        Some(())
    }

    /// The rows that there were, with the changes.
    pub(crate) fn change(&mut self, rows: Vec<Row>) -> Vec<Row> {
        let mut changed: BTreeMap<Bytes, Bytes> = rows.into_iter().map(|row| (row.key, row.value)).collect();
        for (key, value) in std::mem::take(&mut self.rows) {
            match value {
                Some(value) => changed.insert(key, value),
                None => changed.remove(&key),
            };
        }
        changed.into_iter().map(|(key, value)| Row { key, value }).collect()
    }

    /// The last payloads of the blocks that were written.
    pub(crate) fn into_writes(self) -> HashMap<BlockId, Bytes> {
        self.writes
    }
}
