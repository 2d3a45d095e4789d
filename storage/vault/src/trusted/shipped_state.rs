//! A [part](super::sent_state) of the trusted state as it is shipped to the store, without the payloads of its stash.
//! It is one stream of bytes, split into pieces of a fixed size. Its length follows from the parameters and the number
//! of accesses. The [payloads](super::payload_pieces) follow in pieces of their own. The **manifest**, which lists the
//! pieces, is shipped last. A part without a manifest is not a checkpoint.
//!
//! | stream | |
//! |---|---|
//! | head | the small rest of the state, and the lengths of what follows |
//! | delta | the words that changed since the last part |
//! | words in turn | neighbouring words |
//! | order | the blocks of the stash |
//! | rows | those that changed, and a [portion](super::rows_part) in turn |
//! | zeros | up to the length |
//!
//! The stream is built piece by piece. If all words are sent, the caller supplies them as pieces need them. Their
//! tables keep them as they were when the upload started. All rows are read as pieces need them, too.

use super::delta::Delta;
use super::journal_point::JournalPoint;
use super::row::Row;
use super::rows_part::{MergedRows, RowBytes, RowsPart};
use super::sent_payloads::PayloadSet;
use super::sent_state::StatePart;
use super::word_tables::WordTables;
use crate::error::VaultError;
use crate::trusted::header::PIECE_BYTES;
use ameles_core::types::BlockId;
use ameles_seal::versions::VersionsHead;
use borsh::{BorshDeserialize, BorshSerialize};
use std::collections::VecDeque;
use std::ops::Range;

/// The maximum size of a piece in the store.
pub(crate) const MAX_SEALED_BYTES: usize = PIECE_BYTES + (64 << 10);
/// The number of words that are added to the stream in one go.
const WORDS_AT_ONCE: usize = 16 << 10;
/// The maximum number of words in a piece.
pub(crate) const PIECE_WORDS: u64 = PIECE_BYTES as u64 / 4;
/// The number of zeros that are added to the stream in one go.
const ZEROS_AT_ONCE: u64 = 64 << 10;

/// The point at which a checkpoint in the store holds the trusted state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct ShippedPoint {
    /// The number of the checkpoint.
    pub(crate) number: u64,
    /// The epoch of the session that shipped the checkpoint.
    pub(crate) epoch: u32,
    /// The number of accesses since the vault was created.
    pub(crate) accesses: u64,
}

/// The start of the stream.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct ShippedStateHeader {
    pub(crate) point: ShippedPoint,
    /// The rest of the scheme's state.
    pub(crate) rest: Vec<u8>,
    pub(crate) versions: VersionsHead,
    /// The receipts of earlier checkpoints.
    pub(crate) history: Vec<(u64, [u8; 32])>,
    /// The number of bytes of the delta of words.
    pub(crate) delta: u64,
    /// The first word in turn, and the number of them.
    pub(crate) words: (u64, u64),
    /// The number of blocks in the stash.
    pub(crate) stash: u64,
    pub(crate) rows: RowBytes,
}

/// The list of the pieces that a checkpoint needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Manifest {
    /// The state parts that this checkpoint and earlier ones have sent, the oldest first.
    pub(crate) parts: Vec<StatePart>,
    /// The payloads that this checkpoint and earlier ones have sent, the oldest first.
    pub(crate) sets: Vec<PayloadSet>,
    /// True if payloads may be missing that have an origin in a bucket.
    pub(crate) has_origins: bool,
}

impl Manifest {
    /// The names of all pieces of the checkpoint, with their digests.
    pub(crate) fn names(&self) -> impl Iterator<Item = (String, [u8; 32])> + '_ {
        self.parts.iter().flat_map(StatePart::names).chain(self.sets.iter().flat_map(PayloadSet::names))
    }

    /// Encodes the manifest, with the point at which a journal continues the checkpoint.
    pub(crate) fn encode(&self, from: &JournalPoint) -> Vec<u8> {
        borsh::to_vec(&(self, from)).expect("a write to memory does not fail")
    }

    /// Decodes an authenticated text.
    pub(crate) fn decode(text: &[u8]) -> Option<(Self, JournalPoint)> {
        borsh::from_slice(text).ok()
    }
}

/// Writes a part to its stream, as the state was at one time.
pub(crate) struct ShippedStateWriter {
    /// The encoded head and the delta.
    head: Vec<u8>,
    /// The words that were supplied and are not in the stream yet.
    words: VecDeque<u32>,
    /// The words that must still be supplied.
    wanted: Range<u64>,
    order: VecDeque<BlockId>,
    rows: RowsPart,
    /// The number of zeros at the end of the stream.
    zeros: u64,
    /// The bytes that wait for the next piece.
    waiting: Vec<u8>,
}

/// The contents of a part.
pub(crate) struct ShippedStateParts {
    pub(crate) head: ShippedStateHeader,
    /// The changed words, encoded.
    pub(crate) delta: Vec<u8>,
    /// The words in turn, and the first of them, enough for a piece. The others are supplied later.
    pub(crate) words: (Range<u64>, Vec<u32>),
    pub(crate) order: Vec<BlockId>,
    pub(crate) rows: RowsPart,
}

/// The number of bytes in a part for each of its contents. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartRoom {
    pub(crate) head: u64,
    pub(crate) words: u64,
    pub(crate) order: u64,
    pub(crate) rows: u64,
}

impl PartRoom {
    /// The number of bytes of the part.
    pub(crate) fn bytes(self) -> u64 {
        self.head + self.words + self.order + self.rows
    }
}

impl ShippedStateWriter {
    /// Starts the stream of a part with this room. It is longer only if very many epochs are in use, or the stash or
    /// the rows exceed their bounds.
    pub(crate) fn new(parts: ShippedStateParts, room: PartRoom) -> Self {
        let ShippedStateParts { mut head, delta, words: (words, first), order, rows } = parts;
        let count = words.end - words.start;
        (head.delta, head.words) = (delta.len() as u64, (words.start, count));
        (head.stash, head.rows) = (order.len() as u64, rows.bytes);
        let mut encoded = borsh::to_vec(&head).expect("a write to memory does not fail");
        let longer = |needed: u64, room: u64| match needed <= room {
            true => room,
            false => needed.next_multiple_of(1 << 20),
        };
        let needed = [
            encoded.len() as u64,
            head.delta + 4 * count,
            4 * head.stash,
            rows.bytes.all().unwrap_or(u64::MAX),
        ];
        let rooms = [room.head, room.words, room.order, room.rows];
        let zeros = needed.iter().zip(rooms).map(|(needed, room)| longer(*needed, room) - needed).sum();
        encoded.extend(delta);
        ShippedStateWriter {
            head: encoded,
            wanted: words.start + first.len() as u64..words.end,
            words: first.into(),
            order: order.into(),
            rows,
            zeros,
            waiting: Vec::new(),
        }
    }

    /// The words that must be supplied before the next piece: at most as many as a piece holds.
    pub(crate) fn wanted(&self) -> Range<u64> {
        let some = PIECE_WORDS.saturating_sub(self.words.len() as u64);
        self.wanted.start..self.wanted.end.min(self.wanted.start + some)
    }

    /// Adds the wanted words.
    pub(crate) fn supply(&mut self, words: Vec<u32>) {
        self.wanted.start += words.len() as u64;
        match self.words.is_empty() {
            true => self.words = words.into(),
            false => self.words.extend(words),
        }
    }

    /// The next piece of the stream; `None` after the last one. The wanted words must have been supplied.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(crate) fn next_piece(&mut self) -> Result<Option<Vec<u8>>, VaultError> {
        while self.waiting.len() < PIECE_BYTES && self.put_more()? {}
        if self.waiting.is_empty() {
            return Ok(None);
        }
        let rest = self.waiting.split_off(self.waiting.len().min(PIECE_BYTES));
        Ok(Some(std::mem::replace(&mut self.waiting, rest)))
    }

    /// Adds some bytes to the stream. Returns `false` at the end of the stream.
    fn put_more(&mut self) -> Result<bool, VaultError> {
        if !self.head.is_empty() {
            self.waiting.append(&mut self.head);
        } else if !self.words.is_empty() {
            let some = self.words.len().min(WORDS_AT_ONCE);
            self.waiting.extend(self.words.drain(..some).flat_map(u32::to_le_bytes));
        } else if let Some(block) = self.order.pop_front() {
            self.waiting.extend_from_slice(&(block.0 as u32).to_le_bytes());
        } else if let Some(rows) = Some(self.rows.next_bytes()?).filter(|rows| !rows.is_empty()) {
            self.waiting.extend(rows);
        } else if self.zeros > 0 {
            let some = self.zeros.min(ZEROS_AT_ONCE);
            self.zeros -= some;
            self.waiting.resize(self.waiting.len() + some as usize, 0);
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

/// Reads a shipped state from the streams of its parts, piece by piece, the oldest part first.
pub(crate) struct ShippedStateReader {
    tables: WordTables,
    rows: MergedRows,
    /// The head of the part.
    head: Option<ShippedStateHeader>,
    has_delta: bool,
    /// The number of words in turn that were read.
    words: u64,
    /// The bytes of the part that were not read yet.
    bytes: Vec<u8>,
    /// The last part that was read.
    last: Option<(ShippedStateHeader, Vec<BlockId>)>,
}

/// A shipped state, without the payloads of its stash.
pub(crate) struct ShippedState {
    pub(crate) head: ShippedStateHeader,
    pub(crate) tables: WordTables,
    pub(crate) order: Vec<BlockId>,
    pub(crate) rows: Vec<Row>,
}

impl ShippedStateReader {
    /// Starts to read parts into these tables of words, which are zeros.
    pub(crate) fn new(tables: WordTables) -> Self {
        let (rows, bytes) = (MergedRows::default(), Vec::new());
        ShippedStateReader { tables, rows, head: None, has_delta: false, words: 0, bytes, last: None }
    }

    /// Reads the next authenticated piece of a part. `None` if it contains no state.
    pub(crate) fn take(&mut self, piece: &[u8]) -> Option<()> {
        self.bytes.extend_from_slice(piece);
        if self.head.is_none() {
            let mut rest = &self.bytes[..];
            self.head = Some(ShippedStateHeader::deserialize(&mut rest).ok()?);
            self.bytes.drain(..self.bytes.len() - rest.len());
        }
        let head = self.head.as_ref()?;
        let (delta, (first, count)) = (usize::try_from(head.delta).ok()?, head.words);
        if !self.has_delta {
            if self.bytes.len() < delta {
                return Some(());
            }
            if delta > 0 {
                let delta: Delta = borsh::from_slice(&self.bytes[..delta]).ok()?;
                delta.apply_all(&mut self.tables).then_some(())?;
            }
            self.bytes.drain(..delta);
            self.has_delta = true;
        }
        let left = usize::try_from(count.checked_sub(self.words)?).ok()?;
        let words: Vec<u32> =
            self.bytes.as_chunks().0.iter().take(left).map(|w| u32::from_le_bytes(*w)).collect();
        self.bytes.drain(..4 * words.len());
        let fit = self.tables.set(first.checked_add(self.words)?, &words);
        self.words += words.len() as u64;
        if fit && words.len() == left {
            // Drops the padding.
            self.bytes.truncate(needed(self.head.as_ref()?)?);
        }
        fit.then_some(())
    }

    /// Ends a part of which all pieces were read. Returns its point; `None` if it is not a part. `hash` is the hash of
    /// a row's key.
    pub(crate) fn end_part(&mut self, hash: &dyn Fn(&[u8]) -> [u8; 32]) -> Option<ShippedPoint> {
        let head = self.head.take()?;
        let is_read = std::mem::take(&mut self.has_delta) && std::mem::take(&mut self.words) == head.words.1;
        let bytes = std::mem::take(&mut self.bytes);
        let bytes = bytes.get(..needed(&head)?).filter(|_| is_read)?;
        let (order, rows) = bytes.split_at(4 * head.stash as usize);
        let order =
            order.as_chunks().0.iter().map(|word| BlockId(u32::from_le_bytes(*word).into())).collect();
        self.rows.take(head.rows, rows, hash)?;
        let point = head.point;
        self.last = Some((head, order));
        Some(point)
    }

    /// Returns the state after all parts. `None` if there was none.
    pub(crate) fn finish(self) -> Option<ShippedState> {
        let (head, order) = self.last?;
        Some(ShippedState { head, tables: self.tables, order, rows: self.rows.into_rows() })
    }
}

/// The number of bytes of a part after its words, without the padding.
fn needed(head: &ShippedStateHeader) -> Option<usize> {
    let order = usize::try_from(head.stash).ok()?.checked_mul(4)?;
    order.checked_add(usize::try_from(head.rows.all()?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_seal::versions::{TrustedVersions, VaultId};

    fn hash(key: &[u8]) -> [u8; 32] {
        [key[0]; 32]
    }

    #[test]
    fn a_state_comes_out_of_its_parts_whatever_their_pieces_are() {
        let versions = TrustedVersions::new(VaultId([3; 16]), 0).head();
        let (stash, row) = (500, Row::new("name", vec![9]));
        let rows = borsh::to_vec(&row).unwrap();
        let (mut first, mut second) = (Delta::default(), Delta::default());
        first.push(1, &[70, 71]);
        second.push(20, &[20, 21, 99]);
        let part = |number: u64, delta: &Delta, words: Range<u32>, is_put: bool| {
            let delta = borsh::to_vec(delta).unwrap();
            let put = if is_put { rows.len() as u64 } else { 0 };
            let head = ShippedStateHeader {
                point: ShippedPoint { number, epoch: 2, accesses: 90 },
                rest: vec![1, 2, 3],
                versions: versions.clone(),
                history: Vec::new(),
                delta: delta.len() as u64,
                words: (words.start.into(), words.len() as u64),
                stash,
                rows: RowBytes { put, ..RowBytes::default() },
            };
            let mut stream = borsh::to_vec(&head).unwrap();
            stream.extend(delta);
            words.for_each(|word| stream.extend_from_slice(&word.to_le_bytes()));
            (0..stash as u32).rev().for_each(|block| stream.extend_from_slice(&block.to_le_bytes()));
            stream.extend_from_slice(&rows[..put as usize]);
            stream
        };
        let mut parts = [part(6, &first, 0..30, true), part(7, &second, 22..60, false)];
        let needed = parts.each_ref().map(Vec::len);
        parts.iter_mut().for_each(|stream| stream.resize(stream.len() + 3000, 0));
        for piece_bytes in [256, 1000, 100_000] {
            let read = |parts: [&[u8]; 2]| {
                let mut reader = ShippedStateReader::new(WordTables::zeros(&[60]));
                for part in parts {
                    part.chunks(piece_bytes).try_for_each(|piece| reader.take(piece))?;
                    reader.end_part(&hash)?;
                }
                reader.finish()
            };
            let ShippedState { order, rows, tables, .. } =
                read(parts.each_ref().map(|part| &part[..])).unwrap();
            assert!(order.into_iter().eq((0..stash).rev().map(BlockId)));
            assert_eq!(rows, std::slice::from_ref(&row));
            assert!(tables.into_inner().concat().into_iter().eq(0..60));
            assert!(read([&parts[0], &parts[1][..needed[1] - 1]]).is_none(), "a byte is missing");
            assert!(read([&parts[0][..needed[0] - 1], &parts[1]]).is_none(), "a byte is missing");
        }
    }
}
