//! The ledger of the trusted state: what of it stands on the trusted disk, and what the next checkpoint adds.
//!
//! A checkpoint writes a **delta**, the words that have changed; the **payloads** of blocks that have come into the
//! stash, each to a place of its own; and a few **pieces**, neighbouring words as they are now, one after the other
//! round all words. Once every piece is newer than a delta, the delta goes. So a checkpoint costs what was changed, and
//! an opening reads each word about twice.

use super::delta::Delta;
use super::slots::StashSlot;
use super::stash_directory::{ENTRY_WORDS, SlotChanges, StashDirectory};
use super::summary::Summary;
use crate::engine::scheme::{Scheme, Seed};
use crate::error::VaultError;
use crate::trusted::checkpoint::Garbage;
use crate::trusted::checkpoint_bytes::CheckpointBytes;
use crate::trusted::seal_context::SealContext;
use ameles_core::stash::changes::StashChanges;
use ameles_core::types::{Bucket, Bytes};
use ameles_seal::versions::TrustedVersions;
use std::collections::BTreeSet;
use std::ops::Range;

/// Words of a piece: 32 KiB.
pub(crate) const PIECE_WORDS: u64 = 8192;
/// Bytes of pieces that are written for each access: about as many as a delta has, so that there are never more bytes in
/// deltas than in pieces.
const PIECE_BYTES_PER_ACCESS: u64 = 128;

/// See the module.
pub(crate) struct CheckpointWriter {
    pub(crate) directory: StashDirectory,
    /// The checkpoint whose words each piece holds at least.
    pieces: Vec<u64>,
    next_piece: u64,
    /// Bytes of pieces that the accesses so far have made due, and that were not written yet.
    due: u64,
    /// True if the disk holds nothing of this kind: the next checkpoint writes everything.
    is_new: bool,
    /// True if the payloads of the stash are in their places all the same.
    has_payloads: bool,
}

/// The trusted state of this moment, with nothing in flight.
pub(crate) struct TrustedState<'a> {
    pub(crate) scheme: &'a dyn Scheme,
    pub(crate) versions: &'a TrustedVersions,
}

/// The facts of a checkpoint beside the state.
pub(crate) struct CheckpointInfo<'a> {
    pub(crate) number: u64,
    pub(crate) sequence: u64,
    pub(crate) accesses: u64,
    /// Accesses since the last checkpoint.
    pub(crate) since: u64,
    pub(crate) seed: Seed,
    /// Buckets whose versions have changed since the last checkpoint.
    pub(crate) rewritten: Vec<Bucket>,
    pub(crate) garbage: &'a [Garbage],
}

/// The changes of a checkpoint on the disk, sealed. The places are written first, all the rest in one transaction.
pub(crate) struct CheckpointWrite {
    pub(crate) number: u64,
    pub(crate) writes: Vec<(StashSlot, Vec<u8>)>,
    pub(crate) summary: Vec<u8>,
    pub(crate) delta: Vec<u8>,
    pub(crate) pieces: Vec<(u64, Vec<u8>)>,
    /// Deltas up to this one are not needed any more.
    pub(crate) oldest: u64,
    /// Versions that were replaced since the last checkpoint.
    pub(crate) garbage: Option<Vec<u8>>,
    /// The number of the checkpoint after which the oldest version that is still kept was replaced.
    pub(crate) garbage_from: u64,
    /// True if all that stood there before goes.
    pub(crate) is_whole: bool,
}

impl CheckpointWrite {
    /// The change that lays a state down in which all words are zeros and no block is in the stash.
    pub(crate) fn first(summary: &Summary, mut seal: SealContext<'_>) -> Result<Self, VaultError> {
        let number = summary.number;
        Ok(CheckpointWrite {
            number,
            writes: Vec::new(),
            summary: seal.seal(summary, SUMMARY)?,
            delta: seal.seal(&Delta::default(), &delta_name(number))?,
            pieces: Vec::new(),
            oldest: number,
            garbage: None,
            garbage_from: number,
            is_whole: true,
        })
    }

    /// Bytes that are written.
    pub(crate) fn bytes(&self) -> CheckpointBytes {
        CheckpointBytes {
            payloads: self.writes.iter().map(|(_, sealed)| sealed.len() as u64).sum(),
            deltas: self.delta.len() as u64,
            pieces: self.pieces.iter().map(|(_, sealed)| sealed.len() as u64).sum(),
            garbage: self.garbage.as_ref().map_or(0, |sealed| sealed.len() as u64),
            summaries: self.summary.len() as u64,
        }
    }
}

impl CheckpointWriter {
    /// The ledger of a disk that holds no state but the payloads of the stash: the next checkpoint writes all the rest.
    pub(crate) fn with_payloads(directory: StashDirectory) -> Self {
        CheckpointWriter {
            is_new: true,
            has_payloads: true,
            ..CheckpointWriter::of(directory, Vec::new(), 0)
        }
    }

    /// Has the next checkpoint write everything anew but the payloads, which lie where the directory says.
    pub(crate) fn force_full_checkpoint_keeping_payloads(&mut self) {
        self.is_new = true;
        self.has_payloads = true;
    }

    /// Adds payloads of zeros, in places that stay vacant, up to so many: how many blocks came into the stash does not show
    /// by the time that a checkpoint takes.
    pub(crate) fn pad_payloads(&mut self, change: &mut CheckpointWrite, payloads: usize, block: Bytes) {
        let more = payloads.saturating_sub(change.writes.len());
        let spare = self.directory.spare_slots(more).into_iter();
        change.writes.extend(spare.map(|slot| (slot, vec![0; block.0 as usize])));
    }

    /// The ledger of a disk that holds a state: `pieces` are the checkpoints that each piece is of.
    pub(crate) fn of(directory: StashDirectory, pieces: Vec<u64>, next_piece: u64) -> Self {
        CheckpointWriter { directory, pieces, next_piece, due: 0, is_new: false, has_payloads: false }
    }

    /// Pieces of the state.
    pub(crate) fn pieces(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// Puts the changes of the next checkpoint together.
    pub(crate) fn build_checkpoint(
        &mut self,
        state: &TrustedState<'_>,
        info: CheckpointInfo<'_>,
        mut seal: SealContext<'_>,
    ) -> Result<CheckpointWrite, VaultError> {
        let CheckpointInfo { number, sequence, accesses, since, seed, rewritten, garbage } = info;
        let tables = seal.header.parameters.scheme.words();
        let changes = state.scheme.take_changes().expect("nothing is in flight at a checkpoint");
        let is_whole = std::mem::take(&mut self.is_new);
        let (mut words, mut stash) = (changes.words, changes.stash);
        if is_whole {
            let order = state.scheme.stash_order();
            stash = match std::mem::take(&mut self.has_payloads) {
                true => StashChanges::default(),
                false => StashChanges { written: order.clone(), linked: order, removed: Vec::new() },
            };
            words.clear();
        }
        let look_at = &mut |block, look: &mut dyn FnMut(&[u8])| state.scheme.look_at(block, look);
        let SlotChanges { writes, entries } = self.directory.apply_changes(stash, &mut seal, look_at)?;
        let delta = match is_whole {
            true => Delta::default(),
            false => self.delta(state, tables, (words, rewritten, entries)),
        };
        let turn = if is_whole { u64::MAX } else { self.turn(number, since) };
        let pieces = self.write_pieces(state, (number, tables), turn, &mut seal)?;
        let oldest = self.pieces.iter().copied().min().unwrap_or(number);
        let summary = Summary {
            number,
            sequence,
            accesses,
            seed,
            rest: state.scheme.rest(),
            versions: state.versions.head(),
            slots: self.directory.len(),
            keys: self.directory.keys(),
            oldest,
            next_piece: self.next_piece,
        };
        let fresh: Vec<Garbage> =
            garbage.iter().filter(|one| is_whole || one.after + 1 == number).copied().collect();
        let garbage_from = garbage.iter().map(|one| one.after).min().unwrap_or(number);
        Ok(CheckpointWrite {
            number,
            writes,
            summary: seal.seal(&summary, SUMMARY)?,
            delta: seal.seal(&delta, &delta_name(number))?,
            pieces,
            oldest,
            garbage: match fresh.is_empty() {
                true => None,
                false => Some(seal.seal(&fresh, &garbage_name(number - 1))?),
            },
            garbage_from: if is_whole { number - 1 } else { garbage_from },
            is_whole,
        })
    }

    /// The number of pieces whose turn it is, after so many accesses more. Of checkpoints with hardly an access each, at a
    /// start and a stop, there may be so many that their deltas outnumber the pieces: one is due then.
    fn turn(&mut self, number: u64, since: u64) -> u64 {
        let oldest = self.pieces.iter().copied().min().unwrap_or(number);
        let are_many = number - oldest > 64 + 4 * self.pieces.len() as u64;
        self.due += since * PIECE_BYTES_PER_ACCESS;
        let turn = self.due / (4 * PIECE_WORDS);
        self.due %= 4 * PIECE_WORDS;
        turn.max(are_many.into())
    }

    /// The words that have changed, as they are now: of the scheme, of versions, of places. The scheme's are the first
    /// `versions` words.
    fn delta(
        &self,
        state: &TrustedState<'_>,
        versions: u64,
        (words, mut rewritten, entries): (Vec<u64>, Vec<Bucket>, BTreeSet<StashSlot>),
    ) -> Delta {
        let (mut delta, mut buffer) = (Delta::default(), Vec::new());
        for word in words {
            buffer.clear();
            state.scheme.copy_words(word..word + 1, &mut buffer);
            delta.push(word, &buffer);
        }
        rewritten.sort_unstable();
        rewritten.dedup();
        for bucket in rewritten {
            delta.push(versions + TrustedVersions::WORDS * bucket.0, state.versions.words(bucket));
        }
        let slots = versions + TrustedVersions::WORDS * state.versions.buckets();
        for slot in entries {
            buffer.clear();
            self.directory.copy_words(slot, &mut buffer);
            delta.push(slots + ENTRY_WORDS * u64::from(slot.0), &buffer);
        }
        delta
    }

    /// Writes the pieces whose turn it is: so many, or all.
    fn write_pieces(
        &mut self,
        state: &TrustedState<'_>,
        (number, tables): (u64, u64),
        turn: u64,
        seal: &mut SealContext<'_>,
    ) -> Result<Vec<(u64, Vec<u8>)>, VaultError> {
        let words =
            tables + TrustedVersions::WORDS * state.versions.buckets() + ENTRY_WORDS * self.directory.len();
        let all = words.div_ceil(PIECE_WORDS);
        // What a new piece held before were zeros.
        self.pieces.resize(all as usize, number - 1);
        (0..turn.min(all))
            .map(|_| {
                let piece = self.next_piece % all;
                self.next_piece = piece + 1;
                self.pieces[piece as usize] = number;
                let range = piece * PIECE_WORDS..words.min((piece + 1) * PIECE_WORDS);
                let mut words = Vec::with_capacity((range.end - range.start) as usize);
                self.copy_words(state, tables, range, &mut words);
                Ok((piece, seal.seal(&words, &piece_name(piece, number))?))
            })
            .collect()
    }

    /// Appends neighbouring words of the whole state; the scheme's are the first `tables`.
    fn copy_words(&self, state: &TrustedState<'_>, tables: u64, words: Range<u64>, into: &mut Vec<u32>) {
        state.scheme.copy_words(words.clone(), into);
        let each = TrustedVersions::WORDS;
        let slots = tables + each * state.versions.buckets();
        copy_entries(&words, tables..slots, each, into, |bucket, entry| {
            entry.extend_from_slice(state.versions.words(Bucket(bucket)));
        });
        let end = slots + ENTRY_WORDS * self.directory.len();
        copy_entries(&words, slots..end, ENTRY_WORDS, into, |slot, entry| {
            self.directory.copy_words(StashSlot(slot as u32), entry);
        });
    }
}

/// Appends those words that lie in a table, whose entries have `each` words.
fn copy_entries(
    words: &Range<u64>,
    table: Range<u64>,
    each: u64,
    into: &mut Vec<u32>,
    mut copy: impl FnMut(u64, &mut Vec<u32>),
) {
    let (start, end) = (words.start.max(table.start), words.end.min(table.end));
    if start >= end {
        return;
    }
    let (first, last) = ((start - table.start) / each, (end - table.start).div_ceil(each));
    let mut entries = Vec::with_capacity(((last - first) * each) as usize);
    (first..last).for_each(|entry| copy(entry, &mut entries));
    let skip = (start - table.start - first * each) as usize;
    into.extend_from_slice(&entries[skip..skip + (end - start) as usize]);
}

/// The name of the summary.
pub(crate) const SUMMARY: &str = "summary";

/// The name of a checkpoint's delta.
pub(crate) fn delta_name(number: u64) -> String {
    format!("delta/{number}")
}

/// The name of a piece as it was at a checkpoint.
pub(crate) fn piece_name(piece: u64, number: u64) -> String {
    format!("piece/{piece}/{number}")
}

/// The name of the versions that were replaced after a checkpoint.
pub(crate) fn garbage_name(after: u64) -> String {
    format!("garbage/{after}")
}
