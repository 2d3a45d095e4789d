//! The text of a log object: a head, a field for each access of the batch, and a reserved space for changes of rows.
//! Its length follows from the number of accesses. The field of a read or a dummy is all zeros.

use crate::engine::record::Call;
use crate::trusted::header::VaultParameters;
use crate::trusted::unlogged_commits::RowBytes;
use ameles_core::types::BlockId;
use ameles_seal::blob;
use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;

/// The number of bytes of the head.
const HEAD_BYTES: usize = 21;
/// The number of bytes of a field without the payload: whether it is a write, and of which block.
const PLACE_BYTES: usize = 9;

/// A log object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    Entry(Entry),
    /// The end marker of an epoch's journal. It contains the epoch of the opening that has ended the journal.
    End(u32),
}

/// An object of a batch or of an opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The index of the object among the first objects of an opening, and their number. They count only together.
    pub(crate) opening: Option<(u32, u32)>,
    /// The writes of the batch, with dummies in place of reads.
    pub(crate) calls: Vec<Call>,
    pub(crate) rows: RowBytes,
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

/// Returns the number of bytes for changes of rows in the object of a batch. A row of the gateway has a few hundred.
pub(crate) fn row_bytes(calls: usize) -> usize {
    2048 + 512 * calls
}

impl VaultParameters {
    /// Returns the number of bytes of the log object of a batch with this many accesses.
    pub fn journal_object_bytes(&self, calls: u64) -> u64 {
        blob::sealed_bytes(text_bytes(self, calls as usize)) as u64
    }
}

/// Returns the number of bytes of an object's text for this many accesses.
pub(crate) fn text_bytes(parameters: &VaultParameters, calls: usize) -> usize {
    let place = PLACE_BYTES + parameters.scheme.block_bytes() as usize;
    HEAD_BYTES + calls * place + row_bytes(calls)
}

impl Object {
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
            OPENING => Some((nth, of)),
            BATCH => None,
            _ => return None,
        };
        let calls = usize::try_from(calls).ok().filter(|n| *n <= parameters.scheme.max_batch() as usize)?;
        if text.len() != text_bytes(parameters, calls) {
            return None;
        }
        let place_bytes = PLACE_BYTES + parameters.scheme.block_bytes() as usize;
        let (places, rest) = rest.split_at(calls * place_bytes);
        let call = |place: &[u8]| -> Option<Call> {
            let (kind, rest) = place.split_first()?;
            let (block, payload) = rest.split_first_chunk()?;
            match kind {
                0 => Some(Call::Dummy),
                1 => {
                    let block = BlockId(u64::from_le_bytes(*block));
                    let is_there = block.0 < parameters.scheme.capacity();
                    is_there.then(|| Call::Write(block, Bytes::copy_from_slice(payload)))
                }
                _ => None,
            }
        };
        let calls = places.chunks_exact(place_bytes).map(call).collect::<Option<Vec<_>>>()?;
        let bytes = rest.get(..rows as usize).filter(|_| continued <= rows)?.to_vec();
        Some(Object::Entry(Entry { opening, calls, rows: RowBytes { continued, bytes } }))
    }
}

/// Returns whether an object of this size is an end marker: all others are larger.
pub(crate) fn is_end(sealed_bytes: u64) -> bool {
    sealed_bytes == blob::sealed_bytes(HEAD_BYTES) as u64
}

impl Entry {
    fn encode(&self, parameters: &VaultParameters) -> Vec<u8> {
        let Entry { opening, calls, rows } = self;
        let ((nth, of), kind) = opening.map_or(((0, 0), BATCH), |place| (place, OPENING));
        let RowBytes { continued, bytes } = rows;
        let (continued, rows) = (*continued, bytes.len() as u32);
        let head = Head { kind, nth, of, calls: calls.len() as u32, continued, rows };
        let length = text_bytes(parameters, calls.len());
        let mut text = Vec::with_capacity(length);
        borsh::to_writer(&mut text, &head).expect("a write to memory does not fail");
        for call in calls {
            let end = text.len() + PLACE_BYTES + parameters.scheme.block_bytes() as usize;
            if let Call::Write(block, payload) = call {
                text.push(1);
                text.extend_from_slice(&block.0.to_le_bytes());
                text.extend_from_slice(payload);
            }
            text.resize(end, 0);
        }
        text.extend_from_slice(bytes);
        text.resize(length, 0);
        text
    }
}
