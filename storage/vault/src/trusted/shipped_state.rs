//! The trusted state as it is shipped to the store, without the payloads of its stash. It is one stream of bytes, split
//! into pieces of a fixed size. Its length follows from the parameters. The [payloads](super::payload_pieces) follow in
//! pieces of their own. The **manifest**, which lists the pieces, is shipped last. A state without a manifest is not a
//! checkpoint.
//!
//! The stream is built piece by piece, so shipping needs no more memory than a piece and the rows. The caller supplies
//! words as pieces need them. Their tables keep them as they were when the upload started.

use super::position::Position;
use super::row::Row;
use super::sent_payloads::PayloadSet;
use super::shipped_piece_name::piece_name;
use super::word_tables::WordTables;
use crate::trusted::header::{PIECE_BYTES, VaultParameters};
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
    /// The number of blocks in the stash.
    pub(crate) stash: u64,
    /// The number of bytes of the rows.
    pub(crate) rows: u64,
}

/// The list of the pieces that a checkpoint needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Manifest {
    /// The SHA-256 of each piece of the stream as stored.
    pub(crate) pieces: Vec<[u8; 32]>,
    /// The payloads that this checkpoint and earlier ones have sent, the oldest first.
    pub(crate) sets: Vec<PayloadSet>,
}

impl Manifest {
    /// The names of all pieces of the checkpoint of this epoch and number, with their digests.
    pub(crate) fn names(&self, (epoch, number): (u32, u64)) -> impl Iterator<Item = (String, [u8; 32])> + '_ {
        let of_stream =
            (0..).zip(&self.pieces).map(move |(piece, digest)| (piece_name(epoch, number, piece), *digest));
        of_stream.chain(self.sets.iter().flat_map(PayloadSet::names))
    }

    /// Encodes the manifest. In a vault with its journal in the store, it contains the first log object that the state
    /// does not hold.
    pub(crate) fn encode(&self, from: Option<Position>) -> Vec<u8> {
        let mut text = borsh::to_vec(self).expect("a write to memory does not fail");
        if let Some(from) = from {
            borsh::to_writer(&mut text, &from).expect("a write to memory does not fail");
        }
        text
    }

    /// Decodes an authenticated text.
    pub(crate) fn decode(mut text: &[u8]) -> Option<(Self, Option<Position>)> {
        let manifest = Manifest::deserialize(&mut text).ok()?;
        let from = if text.is_empty() { None } else { Some(borsh::from_slice(text).ok()?) };
        Some((manifest, from))
    }
}

impl VaultParameters {
    /// Returns the number of bytes of the stream with its padding. They are more than usual only if very many epochs
    /// are in use.
    fn stream_bytes(&self, needed: u64) -> u64 {
        let usual = self.state_bytes();
        if needed <= usual { usual } else { needed.next_multiple_of(1 << 20) }
    }
}

/// Writes a state to its stream, as it was at one time.
pub(crate) struct ShippedStateWriter {
    head: Option<ShippedStateHeader>,
    /// The words that were supplied and are not in the stream yet.
    words: VecDeque<u32>,
    /// The words that must still be supplied.
    wanted: Range<u64>,
    order: VecDeque<BlockId>,
    rows: VecDeque<Row>,
    /// The number of zeros at the end of the stream.
    zeros: u64,
    /// The bytes that wait for the next piece.
    waiting: Vec<u8>,
}

/// The parts of a shipped state.
pub(crate) struct ShippedStateParts {
    pub(crate) head: ShippedStateHeader,
    /// The number of words of the state, and the first of them, enough for a piece. The others are supplied later.
    pub(crate) words: (u64, Vec<u32>),
    pub(crate) order: Vec<BlockId>,
    pub(crate) rows: Vec<Row>,
}

impl ShippedStateWriter {
    /// Starts the stream of a state.
    pub(crate) fn new(parts: ShippedStateParts, parameters: &VaultParameters) -> Self {
        let ShippedStateParts { mut head, words: (words, first), order, rows } = parts;
        let row_bytes =
            |row: &Row| borsh::object_length(row).expect("a write to memory does not fail") as u64;
        (head.stash, head.rows) = (order.len() as u64, rows.iter().map(row_bytes).sum());
        let head_bytes = borsh::object_length(&head).expect("a write to memory does not fail") as u64;
        let needed = head_bytes + 4 * words + 4 * head.stash + head.rows;
        ShippedStateWriter {
            head: Some(head),
            wanted: first.len() as u64..words,
            words: first.into(),
            order: order.into(),
            rows: rows.into(),
            zeros: parameters.stream_bytes(needed) - needed,
            waiting: Vec::with_capacity(PIECE_BYTES + (1 << 20)),
        }
    }

    /// The words that must be supplied before the next piece: at most as many as a piece holds.
    pub(crate) fn wanted(&self) -> Range<u64> {
        let some = PIECE_WORDS - self.words.len() as u64;
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
    pub(crate) fn next_piece(&mut self) -> Option<Vec<u8>> {
        while self.waiting.len() < PIECE_BYTES && self.put_more() {}
        if self.waiting.is_empty() {
            return None;
        }
        let rest = self.waiting.split_off(self.waiting.len().min(PIECE_BYTES));
        Some(std::mem::replace(&mut self.waiting, rest))
    }

    /// Adds some bytes to the stream. Returns `false` at the end of the stream.
    fn put_more(&mut self) -> bool {
        let put = |what: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>, into: &mut Vec<u8>| {
            what(into).expect("a write to memory does not fail");
        };
        if let Some(head) = self.head.take() {
            put(&|into| head.serialize(into), &mut self.waiting);
        } else if !self.words.is_empty() {
            let some = self.words.len().min(WORDS_AT_ONCE);
            self.waiting.extend(self.words.drain(..some).flat_map(u32::to_le_bytes));
        } else if let Some(block) = self.order.pop_front() {
            self.waiting.extend_from_slice(&(block.0 as u32).to_le_bytes());
        } else if let Some(row) = self.rows.pop_front() {
            put(&|into| row.serialize(into), &mut self.waiting);
        } else if self.zeros > 0 {
            let some = self.zeros.min(ZEROS_AT_ONCE);
            self.zeros -= some;
            self.waiting.resize(self.waiting.len() + some as usize, 0);
        } else {
            return false;
        }
        true
    }
}

/// Reads a shipped state from its stream, piece by piece.
pub(crate) struct ShippedStateReader {
    head: Option<ShippedStateHeader>,
    tables: WordTables,
    /// The number of words in the tables.
    words: u64,
    /// The bytes after these words so far.
    bytes: Vec<u8>,
}

/// A shipped state, without the payloads of its stash.
pub(crate) struct ShippedState {
    pub(crate) head: ShippedStateHeader,
    pub(crate) tables: WordTables,
    pub(crate) order: Vec<BlockId>,
    pub(crate) rows: Vec<Row>,
}

impl ShippedStateReader {
    /// Starts to read a stream into these tables of words.
    pub(crate) fn new(tables: WordTables) -> Self {
        ShippedStateReader { head: None, tables, words: 0, bytes: Vec::new() }
    }

    /// Reads the next authenticated piece. `None` if it contains no state.
    pub(crate) fn take(&mut self, piece: &[u8]) -> Option<()> {
        self.bytes.extend_from_slice(piece);
        if self.head.is_none() {
            let mut rest = &self.bytes[..];
            self.head = Some(ShippedStateHeader::deserialize(&mut rest).ok()?);
            self.bytes.drain(..self.bytes.len() - rest.len());
        }
        let left = usize::try_from(self.tables.len() - self.words).ok()?;
        let words: Vec<u32> =
            self.bytes.as_chunks().0.iter().take(left).map(|w| u32::from_le_bytes(*w)).collect();
        self.bytes.drain(..4 * words.len());
        let fit = self.tables.set(self.words, &words);
        self.words += words.len() as u64;
        if fit && words.len() == left {
            // Drops the padding.
            self.bytes.truncate(self.needed()?);
        }
        fit.then_some(())
    }

    /// The bytes after the words, without the padding.
    fn needed(&self) -> Option<usize> {
        let head = self.head.as_ref()?;
        let order = usize::try_from(head.stash).ok()?.checked_mul(4)?;
        order.checked_add(usize::try_from(head.rows).ok()?)
    }

    /// Returns the state after all pieces. `None` if they contain no state.
    pub(crate) fn finish(self) -> Option<ShippedState> {
        let needed = self.needed().filter(|_| self.words == self.tables.len())?;
        let ShippedStateReader { head, tables, bytes, .. } = self;
        let head = head?;
        let (order, mut rest) = bytes.get(..needed)?.split_at(4 * head.stash as usize);
        let order =
            order.as_chunks().0.iter().map(|word| BlockId(u32::from_le_bytes(*word).into())).collect();
        let mut rows = Vec::new();
        while !rest.is_empty() {
            rows.push(Row::deserialize(&mut rest).ok()?);
        }
        Some(ShippedState { head, tables, order, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_seal::versions::{TrustedVersions, VaultId};

    #[test]
    fn a_state_comes_out_of_its_stream_whatever_its_pieces_are() {
        let versions = TrustedVersions::new(VaultId([3; 16]), 0).head();
        let (stash, row) = (500, Row::new("name", vec![9]));
        let rows = borsh::to_vec(&row).unwrap();
        let head = ShippedStateHeader {
            point: ShippedPoint { number: 7, epoch: 2, accesses: 90 },
            rest: vec![1, 2, 3],
            versions,
            history: Vec::new(),
            stash,
            rows: rows.len() as u64,
        };
        let mut stream = borsh::to_vec(&head).unwrap();
        (0..60u32).for_each(|word| stream.extend_from_slice(&word.to_le_bytes()));
        (0..stash as u32).rev().for_each(|block| stream.extend_from_slice(&block.to_le_bytes()));
        stream.extend_from_slice(&rows);
        let needed = stream.len();
        stream.resize(needed + 3000, 0);
        for piece_bytes in [256, 1000, stream.len()] {
            let read = |bytes: &[u8]| {
                let mut reader = ShippedStateReader::new(WordTables::zeros(&[60]));
                bytes.chunks(piece_bytes).try_for_each(|piece| reader.take(piece))?;
                reader.finish()
            };
            let ShippedState { order, rows, tables, .. } = read(&stream).unwrap();
            assert!(order.into_iter().eq((0..stash).rev().map(BlockId)));
            assert_eq!(rows, std::slice::from_ref(&row));
            assert!(tables.into_inner().concat().into_iter().eq(0..60));
            assert!(read(&stream[..needed - 1]).is_none(), "a byte is missing");
        }
    }
}
