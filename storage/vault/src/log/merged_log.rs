//! The merged contents of a journal's objects: the last payload of each written block, the last value of each changed
//! row, and the records that were announced in the store.

use super::entry::{Contents, Entry};
use crate::engine::record::{Call, ENGINE_VERSION, Input, Record};
use crate::error::VaultError;
use crate::trusted::position::Position;
use crate::trusted::row::{Row, RowChange};
use crate::trusted::unlogged_commits::RowStream;
use ameles_core::types::BlockId;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};

/// The merged contents of a journal.
#[derive(Default)]
pub(crate) struct MergedLog {
    writes: HashMap<BlockId, Bytes>,
    rows: BTreeMap<Bytes, Option<Bytes>>,
    /// The records, in a vault that announces in the store.
    records: Vec<Record>,
    /// The version of another engine that has made one of the objects with records.
    other_engine: Option<u32>,
    /// The number of the record after them.
    next: u64,
    /// The number of accesses, dummies included.
    accesses: u64,
    epoch: u32,
    /// The first objects of an opening, until all of them were taken.
    opening: Vec<Entry>,
    stream: RowStream,
}

impl MergedLog {
    /// An empty journal whose first record has this number.
    pub(crate) fn from(sequence: u64) -> Self {
        MergedLog { next: sequence, ..MergedLog::default() }
    }

    /// Adds the next object.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if it does not follow from the objects before it.
    pub(crate) fn take(&mut self, at: Position, entry: Entry) -> Result<(), VaultError> {
        if at.epoch != self.epoch {
            self.epoch = at.epoch;
            // An opening that was cut off has answered nothing. The next opening's objects contain a commit that was
            // cut off.
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

    /// The number of accesses in the journal, dummies included. The last batches before an opening may count
    /// twice. Public.
    pub(crate) fn accesses(&self) -> u64 {
        self.accesses
    }

    fn apply(&mut self, entry: Entry) -> Option<()> {
        match entry.contents {
            Contents::Writes(calls) => self.apply_calls(&calls),
            Contents::Records(records) => {
                if records.first > self.next {
                    return None;
                }
                let is_other = records.engine != ENGINE_VERSION && records.end() > self.next;
                self.other_engine = self.other_engine.or(is_other.then_some(records.engine));
                // The first object of an opening may repeat records.
                for record in records.from(self.next).records {
                    if let Input::Batch(calls) = &record.input {
                        self.apply_calls(calls);
                    }
                    self.records.push(record);
                    self.next += 1;
                }
            }
        }
        for RowChange { key, value } in self.stream.take(&entry.rows)?.into_iter().flatten() {
            self.rows.insert(key, value);
        }
        Some(())
    }

    fn apply_calls(&mut self, calls: &[Call]) {
        self.accesses += calls.len() as u64;
        for call in calls {
            if let Call::Write(block, payload) = call {
                self.writes.insert(*block, payload.clone());
            }
        }
    }

    /// The number of the record after the last one.
    pub(crate) fn next_record(&self) -> u64 {
        self.next
    }

    /// Takes the records.
    ///
    /// # Errors
    /// [`VaultError::OtherEngine`] if an engine of another version has made one of them: this one may cause other requests.
    pub(crate) fn take_records(&mut self) -> Result<Vec<Record>, VaultError> {
        match self.other_engine {
            Some(theirs) => Err(VaultError::OtherEngine { theirs, ours: ENGINE_VERSION }),
            None => Ok(std::mem::take(&mut self.records)),
        }
    }

    /// Takes the changes of rows, and forgets the payloads of blocks, which are in the records too.
    pub(crate) fn take_rows(&mut self) -> Vec<RowChange> {
        self.writes.clear();
        std::mem::take(&mut self.rows).into_iter().map(|(key, value)| RowChange { key, value }).collect()
    }

    /// Applies the changes to rows.
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

    /// The last payloads of the written blocks.
    pub(crate) fn into_writes(self) -> HashMap<BlockId, Bytes> {
        self.writes
    }
}
