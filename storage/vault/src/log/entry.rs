//! The text of a log object. Its length follows from the number of accesses and, with announcements, from the requests
//! that they announce. The field of a read or a dummy is as long as that of a write.

use super::access_fields::{FIELD_BYTES, access_fields, decode_access_fields};
use super::announcements::AnnouncedRecords;
use super::payloads::payload_object_bytes;
use crate::engine::record::Call;
use crate::engine::scheme::MAX_BATCHES;
use crate::trusted::header::VaultParameters;
use crate::trusted::position::Position;
use crate::trusted::unlogged_commits::RowBytes;
use ameles_seal::blob;
use borsh::{BorshDeserialize, BorshSerialize};

/// The number of bytes of the head.
const HEAD_BYTES: usize = 21;
/// The maximum number of bytes of the records in an object, without their accesses.
const MAX_RECORD_BYTES: usize = 64 << 20;

/// A log object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    Entry(Entry),
    /// The end marker of an epoch's journal. It contains the epoch of the opening that has ended the journal.
    End(u32),
}

/// An object of a batch, of records, or of an opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The index of the object among the first objects of an opening, and their number. They count only together.
    pub(crate) opening: Option<(u32, u32)>,
    pub(crate) contents: Contents,
    pub(crate) rows: RowBytes,
    /// The sequence before which this journal's payloads were in the store, in a vault whose payloads have objects of
    /// their own. Then those of this object are not in it, and `contents` lacks them until they are added.
    pub(crate) settled: Option<u64>,
}

/// The contents of an object besides rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// The writes of a batch, with dummies in place of reads.
    Writes(Vec<Call>),
    /// The records of a flush, in a vault that announces in the store.
    Records(AnnouncedRecords),
}

impl Contents {
    /// The number of accesses, dummies included.
    pub(crate) fn accesses(&self) -> usize {
        match self {
            Contents::Writes(calls) => calls.len(),
            Contents::Records(records) => records.accesses(),
        }
    }
}

#[derive(BorshSerialize, BorshDeserialize)]
struct Head {
    kind: u8,
    nth: u32,
    of: u32,
    calls: u32,
    continued: u32,
    rows: u32,
}

const BATCH: u8 = 1;
const OPENING: u8 = 2;
const END: u8 = 3;
const RECORDS: u8 = 4;
const OPENING_RECORDS: u8 = 5;
/// The same two, without payloads. The [settled](Entry::settled) sequence follows the head.
const RECORDS_WITHOUT_PAYLOADS: u8 = 6;
const OPENING_RECORDS_WITHOUT_PAYLOADS: u8 = 7;
/// The number of bytes of the settled sequence.
const SETTLED_BYTES: usize = 8;

/// The share of a block for changes of rows: a log object has it once, and once for each access.
const ROW_SHARE: usize = 16;
/// The maximum of this share in etcd, whose values are small.
const MAX_ROW_SHARE_IN_ETCD: usize = 4096;
/// The minimum number of bytes for changes of rows in a log object without accesses. A row of the gateway has a few
/// hundred.
const MIN_ROW_BYTES: usize = 2048;
/// The minimum number of bytes for changes of rows that each access adds.
const MIN_ROW_BYTES_PER_ACCESS: usize = 512;

impl VaultParameters {
    /// Returns the number of bytes for changes of rows that each access adds to a log object. `None` if the journal is
    /// not in the store.
    pub fn row_bytes_per_access(&self) -> Option<u64> {
        let bytes = self.row_share().max(MIN_ROW_BYTES_PER_ACCESS);
        self.journal.is_in_store().then_some(bytes as u64)
    }

    fn row_share(&self) -> usize {
        let share = self.scheme.block_bytes() as usize / ROW_SHARE;
        if self.journal.has_payload_objects() { share.min(MAX_ROW_SHARE_IN_ETCD) } else { share }
    }

    /// Returns the number of bytes for changes of rows in an object with this many accesses.
    pub(crate) fn row_bytes(&self, calls: usize) -> usize {
        let share = self.row_share();
        share.max(MIN_ROW_BYTES) + share.max(MIN_ROW_BYTES_PER_ACCESS) * calls
    }

    /// Returns the number of bytes that the journal of a batch with this many accesses has in the store, without
    /// announcements.
    pub fn journal_object_bytes(&self, calls: u64) -> u64 {
        if self.journal.has_payload_objects() {
            return payload_object_bytes(self, calls as usize);
        }
        blob::sealed_bytes(text_bytes(self, calls as usize)) as u64
    }

    /// The number of bytes of a payload in a log object.
    fn logged_payload_bytes(&self) -> usize {
        if self.journal.has_payload_objects() { 0 } else { self.scheme.block_bytes() as usize }
    }
}

/// Returns the number of bytes of an object's text for this many accesses, without announcements.
pub(crate) fn text_bytes(parameters: &VaultParameters, calls: usize) -> usize {
    let place = FIELD_BYTES + parameters.logged_payload_bytes();
    HEAD_BYTES + calls * place + parameters.row_bytes(calls)
}

/// Returns the maximum number of bytes of an object's text.
pub(crate) fn max_text_bytes(parameters: &VaultParameters) -> usize {
    let batch = parameters.scheme.max_batch() as usize;
    if parameters.journal.announces() {
        // An opening repeats the batches of all objects that may be missing, and of those that had no object yet.
        let batches = 2 * MAX_BATCHES as usize;
        return text_bytes(parameters, batches * batch) + SETTLED_BYTES + MAX_RECORD_BYTES;
    }
    text_bytes(parameters, batch)
}

impl Object {
    /// The position of the object that comes after this one at `at`: in the same journal, or in that of the next epoch.
    pub(crate) fn position_after(&self, at: Position) -> Position {
        match self {
            Object::Entry(_) => at.next(),
            Object::End(_) => Position::first_of(at.epoch + 1),
        }
    }

    /// The text of the object.
    pub(crate) fn encode(&self, parameters: &VaultParameters) -> Vec<u8> {
        match self {
            Object::Entry(entry) => entry.encode(parameters),
            Object::End(by) => {
                let head = Head { kind: END, nth: *by, of: 0, calls: 0, continued: 0, rows: 0 };
                borsh::to_vec(&head).expect("a write to memory does not fail")
            }
        }
    }

    /// Decodes an authenticated text.
    pub(crate) fn decode(text: &[u8], parameters: &VaultParameters) -> Option<Self> {
        let (head, rest) = text.split_at_checked(HEAD_BYTES)?;
        let Head { kind, nth, of, calls, continued, rows } = borsh::from_slice(head).ok()?;
        let opening = match kind {
            END => return rest.is_empty().then_some(Object::End(nth)),
            OPENING | OPENING_RECORDS | OPENING_RECORDS_WITHOUT_PAYLOADS => Some((nth, of)),
            BATCH | RECORDS | RECORDS_WITHOUT_PAYLOADS => None,
            _ => return None,
        };
        let (settled, rest) = match kind {
            RECORDS_WITHOUT_PAYLOADS | OPENING_RECORDS_WITHOUT_PAYLOADS => {
                let (settled, rest) = rest.split_first_chunk()?;
                (Some(u64::from_le_bytes(*settled)), rest)
            }
            _ => (None, rest),
        };
        let payload = parameters.logged_payload_bytes();
        if settled.is_some() != parameters.journal.has_payload_objects() {
            return None;
        }
        let calls = usize::try_from(calls).ok()?;
        let fields = calls.checked_mul(FIELD_BYTES + payload)?;
        let (fields, rest) = rest.split_at_checked(fields)?;
        let calls = decode_access_fields(fields, payload, &parameters.scheme)?;
        let room = parameters.row_bytes(calls.len());
        let (contents, rest) = match kind {
            RECORDS | OPENING_RECORDS | RECORDS_WITHOUT_PAYLOADS | OPENING_RECORDS_WITHOUT_PAYLOADS => {
                let (records, rest) = rest.split_at_checked(rest.len().checked_sub(room)?)?;
                (Contents::Records(AnnouncedRecords::decode(records, calls)?), rest)
            }
            _ => (Contents::Writes(calls), rest),
        };
        if rest.len() != room {
            return None;
        }
        let bytes = rest.get(..rows as usize).filter(|_| continued <= rows)?.to_vec();
        Some(Object::Entry(Entry { opening, contents, rows: RowBytes { continued, bytes }, settled }))
    }
}

/// Returns whether an object of this size is an end marker: all others are larger.
pub(crate) fn is_end(sealed_bytes: u64) -> bool {
    sealed_bytes == blob::sealed_bytes(HEAD_BYTES) as u64
}

impl Entry {
    fn encode(&self, parameters: &VaultParameters) -> Vec<u8> {
        let Entry { opening, contents, rows: RowBytes { continued, bytes }, settled } = self;
        let (nth, of) = opening.unwrap_or_default();
        let kind = match (contents, opening, settled) {
            (Contents::Writes(_), None, _) => BATCH,
            (Contents::Writes(_), Some(_), _) => OPENING,
            (Contents::Records(_), None, None) => RECORDS,
            (Contents::Records(_), Some(_), None) => OPENING_RECORDS,
            (Contents::Records(_), None, Some(_)) => RECORDS_WITHOUT_PAYLOADS,
            (Contents::Records(_), Some(_), Some(_)) => OPENING_RECORDS_WITHOUT_PAYLOADS,
        };
        let (continued, rows) = (*continued, bytes.len() as u32);
        let calls = contents.accesses();
        let head = Head { kind, nth, of, calls: calls as u32, continued, rows };
        let mut text = Vec::with_capacity(text_bytes(parameters, calls));
        borsh::to_writer(&mut text, &head).expect("a write to memory does not fail");
        text.extend(settled.map(u64::to_le_bytes).iter().flatten());
        let payload = parameters.logged_payload_bytes();
        match contents {
            Contents::Writes(calls) => access_fields(calls.iter(), payload, &mut text),
            Contents::Records(records) => {
                access_fields(records.calls(), payload, &mut text);
                records.encode(&mut text);
            }
        }
        let end = text.len() + parameters.row_bytes(calls);
        text.extend_from_slice(bytes);
        text.resize(end, 0);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::record::{Announcement, Effect, Input, Record};
    use crate::engine::scheme::SchemeParameters;
    use crate::trusted::header::JournalPlace;
    use ameles_core::schemes::trivial::TrivialParameters;
    use ameles_core::types::{BlockId, Bucket, Slot, Version};

    fn parameters() -> VaultParameters {
        let trivial = TrivialParameters { capacity: 8, block_bytes: 16, chunk_blocks: 2, max_batch: 3 };
        VaultParameters::with_defaults(SchemeParameters::Trivial(trivial))
            .with_journal(JournalPlace::StoreFirst)
    }

    /// An object with a batch of these calls, which reads a slot, and with the records around it.
    fn announced(calls: Vec<Call>) -> Object {
        let version = Version { epoch: 2, counter: 9 };
        let read = Effect::Read(vec![(Slot { bucket: Bucket(3), index: 1 }, version)]);
        let batch = Record {
            input: Input::Batch(calls),
            announced: vec![Announcement { operation: 4, effect: read }],
        };
        let other = |input| Record { input, announced: Vec::new() };
        let records = vec![other(Input::Checkpoint([7; 32])), batch, other(Input::Complete(4))];
        let contents = Contents::Records(AnnouncedRecords::new(11, records));
        let rows = RowBytes { continued: 2, bytes: vec![5; 40] };
        Object::Entry(Entry { opening: None, contents, rows, settled: None })
    }

    #[test]
    fn an_object_is_as_long_for_reads_as_for_writes_and_dummies() {
        let parameters = parameters();
        let (read, write) = (Call::Read(BlockId(7)), Call::Write(BlockId(2), vec![9; 16].into()));
        let batches = [
            vec![Call::Dummy, Call::Dummy],
            vec![read.clone(), write.clone()],
            vec![write.clone(), write],
            vec![read; 2],
        ];
        let mut lengths = Vec::new();
        for calls in batches {
            let object = announced(calls);
            let text = object.encode(&parameters);
            assert_eq!(Object::decode(&text, &parameters), Some(object));
            lengths.push(text.len());
        }
        assert!(lengths.iter().all(|length| *length == lengths[0]), "{lengths:?}");
        assert!(lengths[0] > text_bytes(&parameters, 2) && lengths[0] <= max_text_bytes(&parameters));
    }

    #[test]
    fn records_with_more_accesses_than_fields_are_refused() {
        let parameters = parameters();
        let text = announced(vec![Call::Dummy; 2]).encode(&parameters);
        // The head says one access less. Its field is taken for the start of the records.
        let mut fewer = text.clone();
        fewer[9] = 1;
        assert_eq!(Object::decode(&fewer, &parameters), None);
        for length in 0..text.len() {
            assert_eq!(Object::decode(&text[..length], &parameters), None, "{length} bytes");
        }
    }
}
