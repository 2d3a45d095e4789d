//! The records of a flush in a log object: the inputs of the engine, and the requests that each has announced.
//!
//! The accesses of the batches are in [fields](super::access_fields) of one length. Everything else in a record is known
//! to the watcher, or has one length.

use crate::engine::record::{Announcement, Call, ENGINE_VERSION, Input, Record};
use borsh::{BorshDeserialize, BorshSerialize};
use std::ops::Range;

/// Consecutive records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnnouncedRecords {
    /// The [version](ENGINE_VERSION) of the engine that made them.
    pub(crate) engine: u32,
    /// The number of the first record in the vault's journal.
    pub(crate) first: u64,
    pub(crate) records: Vec<Record>,
}

/// A record without the accesses of its batch.
#[derive(BorshSerialize, BorshDeserialize)]
struct RecordShape {
    /// The number of accesses of a batch that starts, or another input.
    input: Result<u32, Input>,
    announced: Vec<Announcement>,
}

impl AnnouncedRecords {
    /// The records of this build's engine, from this number on.
    pub(crate) fn new(first: u64, records: Vec<Record>) -> Self {
        AnnouncedRecords { engine: ENGINE_VERSION, first, records }
    }

    /// The number of the record after the last one.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// The records from this number on.
    pub(crate) fn from(mut self, sequence: u64) -> Self {
        let first = sequence.clamp(self.first, self.end());
        self.records.drain(..(first - self.first) as usize);
        AnnouncedRecords { first, ..self }
    }

    /// The accesses of the batches, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.records.iter().flat_map(|record| match &record.input {
            Input::Batch(calls) => calls.as_slice(),
            _ => &[],
        })
    }

    /// The same, to change them.
    pub(super) fn calls_mut(&mut self) -> impl Iterator<Item = &mut Call> {
        self.records.iter_mut().flat_map(|record| match &mut record.input {
            Input::Batch(calls) => calls.as_mut_slice(),
            _ => &mut [],
        })
    }

    /// The records with numbers in this range, if all of them are here.
    pub(crate) fn range(&self, range: Range<u64>) -> Option<AnnouncedRecords> {
        let at = |number: u64| usize::try_from(number.checked_sub(self.first)?).ok();
        let records = self.records.get(at(range.start)?..at(range.end)?)?.to_vec();
        Some(AnnouncedRecords { first: range.start, records, ..*self })
    }

    /// The number of batches.
    pub(crate) fn batches(&self) -> usize {
        self.records.iter().filter(|record| matches!(record.input, Input::Batch(_))).count()
    }

    /// The number of accesses, dummies included.
    pub(crate) fn accesses(&self) -> usize {
        self.calls().count()
    }

    /// Appends the records without their accesses.
    pub(super) fn encode(&self, text: &mut Vec<u8>) {
        let shape = |record: &Record| RecordShape {
            input: match &record.input {
                Input::Batch(calls) => Ok(calls.len() as u32),
                other => Err(other.clone()),
            },
            announced: record.announced.clone(),
        };
        let shapes: Vec<RecordShape> = self.records.iter().map(shape).collect();
        borsh::to_writer(text, &(self.engine, self.first, shapes)).expect("a write to memory does not fail");
    }

    /// Reads authenticated records, whose batches have these accesses. `None` if they have others.
    pub(super) fn decode(text: &[u8], calls: Vec<Call>) -> Option<Self> {
        let (engine, first, shapes): (u32, u64, Vec<RecordShape>) = borsh::from_slice(text).ok()?;
        first.checked_add(shapes.len() as u64)?;
        let mut calls = calls.into_iter();
        let mut records = Vec::with_capacity(shapes.len());
        for RecordShape { input, announced } in shapes {
            let input = match input {
                Ok(count) => {
                    let taken: Vec<Call> = calls.by_ref().take(count as usize).collect();
                    if taken.len() != count as usize {
                        return None;
                    }
                    Input::Batch(taken)
                }
                Err(Input::Batch(_)) => return None,
                Err(other) => other,
            };
            records.push(Record { input, announced });
        }
        calls.next().is_none().then_some(AnnouncedRecords { engine, first, records })
    }
}
