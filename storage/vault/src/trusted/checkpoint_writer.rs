//! The writer of checkpoints on the trusted disk. It knows what the disk holds, and builds what the next checkpoint
//! adds.
//!
//! A checkpoint writes a **delta**, which is the changed words; the **payloads** of blocks that have come into the
//! stash, each to its own slot; and a few **pieces**, which are ranges of current words. The pieces cycle through all
//! words. A delta is deleted once every piece is newer, and the checkpoint in the store as well. So a checkpoint costs as
//! much as was changed, an opening reads each word about twice, and knows which words the store lacks.

use super::changed_words::ChangedWords;
use super::delta::Delta;
use super::slots::StashSlot;
use super::stash_directory::{ENTRY_WORDS, SlotChanges, StashDirectory};
use super::summary::{CheckpointHead, Summary};
use crate::engine::scheme::Scheme;
use crate::error::VaultError;
use crate::trusted::checkpoint::Garbage;
use crate::trusted::checkpoint_bytes::CheckpointBytes;
use crate::trusted::seal_context::SealContext;
use ameles_core::stash::changes::StashChanges;
use ameles_core::types::{Bucket, Bytes};
use ameles_seal::versions::TrustedVersions;
use std::collections::BTreeSet;
use std::ops::Range;

/// The number of words of a piece: 32 KiB.
pub(crate) const PIECE_WORDS: u64 = 8192;
/// The number of bytes of pieces that are written for each access: about as many as an access adds to a delta. So
/// deltas never hold more bytes than pieces.
const PIECE_BYTES_PER_ACCESS: u64 = 128;

/// Builds the checkpoints of a trusted disk.
pub(crate) struct CheckpointWriter {
    pub(crate) directory: StashDirectory,
    /// The words that changed since the last upload began, or since the checkpoint in the store. If an upload fails, the
    /// session ends.
    pub(crate) unsent: ChangedWords,
    /// The oldest checkpoint that the words of each piece may come from.
    pieces: Vec<u64>,
    next_piece: u64,
    /// The number of bytes of pieces that are due and not written yet.
    due: u64,
    /// True if the disk holds no state: the next checkpoint writes everything.
    is_new: bool,
    /// True if the disk holds the payloads of the stash, but no state.
    has_payloads: bool,
}

/// The current trusted state, with nothing in flight.
pub(crate) struct TrustedState<'a> {
    pub(crate) scheme: &'a dyn Scheme,
    pub(crate) versions: &'a TrustedVersions,
}

/// The facts of a checkpoint besides the state.
pub(crate) struct CheckpointInfo<'a> {
    pub(crate) head: CheckpointHead,
    /// The number of accesses since the last checkpoint.
    pub(crate) since: u64,
    /// The buckets whose versions have changed since the last checkpoint.
    pub(crate) rewritten: Vec<Bucket>,
    pub(crate) garbage: &'a [Garbage],
    /// The checkpoint in the store, if the deltas after it are needed to know which words it lacks.
    pub(crate) in_store: Option<u64>,
}

/// The sealed changes of a checkpoint on the disk. The slots are written first, and the rest in one transaction.
pub(crate) struct CheckpointWrite {
    pub(crate) number: u64,
    pub(crate) writes: Vec<(StashSlot, Vec<u8>)>,
    pub(crate) summary: Vec<u8>,
    pub(crate) delta: Vec<u8>,
    pub(crate) pieces: Vec<(u64, Vec<u8>)>,
    /// Deltas up to this one are no longer needed.
    pub(crate) oldest: u64,
    /// The versions that were replaced since the last checkpoint.
    pub(crate) garbage: Option<Vec<u8>>,
    /// The number of the checkpoint after which the oldest remaining version was replaced.
    pub(crate) garbage_from: u64,
    /// True if this replaces everything that the disk held before.
    pub(crate) is_whole: bool,
}

impl CheckpointWrite {
    /// The checkpoint of a state in which all words are zeros and the stash is empty.
    pub(crate) fn first(summary: &Summary, mut seal: SealContext<'_>) -> Result<Self, VaultError> {
        let number = summary.head.number;
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

    /// The bytes of the checkpoint.
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
    /// The writer for a disk that holds only the payloads of the stash. The next checkpoint writes the rest.
    pub(crate) fn with_payloads(directory: StashDirectory) -> Self {
        CheckpointWriter {
            is_new: true,
            has_payloads: true,
            ..CheckpointWriter::of(directory, Vec::new(), 0)
        }
    }

    /// Makes the next checkpoint write everything except the payloads, which are in the slots that the directory names.
    pub(crate) fn force_full_checkpoint_keeping_payloads(&mut self) {
        self.is_new = true;
        self.has_payloads = true;
    }

    /// Adds payloads of zeros in slots that stay vacant, up to this many payloads in all. So the duration of a
    /// checkpoint does not show how many blocks came into the stash.
    pub(crate) fn pad_payloads(&mut self, change: &mut CheckpointWrite, payloads: usize, block: Bytes) {
        let more = payloads.saturating_sub(change.writes.len());
        let spare = self.directory.spare_slots(more).into_iter();
        change.writes.extend(spare.map(|slot| (slot, vec![0; block.0 as usize])));
    }

    /// The writer for a disk that holds a state. `pieces` is the checkpoint of each piece.
    pub(crate) fn of(directory: StashDirectory, pieces: Vec<u64>, next_piece: u64) -> Self {
        let unsent = ChangedWords::default();
        CheckpointWriter { directory, unsent, pieces, next_piece, due: 0, is_new: false, has_payloads: false }
    }

    /// The number of pieces of the state.
    pub(crate) fn pieces(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// Builds the next checkpoint.
    pub(crate) fn build_checkpoint(
        &mut self,
        state: &TrustedState<'_>,
        info: CheckpointInfo<'_>,
        mut seal: SealContext<'_>,
    ) -> Result<CheckpointWrite, VaultError> {
        let CheckpointInfo { head, since, rewritten, garbage, in_store } = info;
        let number = head.number;
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
        let with_payload = &mut |block, look: &mut dyn FnMut(&[u8])| state.scheme.with_payload(block, look);
        let SlotChanges { writes, entries } = self.directory.apply_changes(stash, &mut seal, with_payload)?;
        let delta = if is_whole {
            self.unsent = ChangedWords::since(number);
            Delta::default()
        } else {
            self.delta(state, tables, (words, rewritten, entries))
        };
        let turn = if is_whole { u64::MAX } else { self.turn(number, since) };
        let pieces = self.write_pieces(state, (number, tables), turn, &mut seal)?;
        let oldest = self.pieces.iter().copied().min().unwrap_or(number);
        let summary = Summary {
            head,
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
            oldest: in_store.filter(|_| !is_whole).map_or(oldest, |number| oldest.min(number)),
            garbage: match fresh.is_empty() {
                true => None,
                false => Some(seal.seal(&fresh, &garbage_name(number - 1))?),
            },
            garbage_from: if is_whole { number - 1 } else { garbage_from },
            is_whole,
        })
    }

    /// The number of pieces that are due after this many more accesses. Starts and stops make checkpoints with hardly
    /// an access. If their deltas outnumber the pieces, one piece is due.
    fn turn(&mut self, number: u64, since: u64) -> u64 {
        let oldest = self.pieces.iter().copied().min().unwrap_or(number);
        let are_many = number - oldest > 64 + 4 * self.pieces.len() as u64;
        self.due += since * PIECE_BYTES_PER_ACCESS;
        let turn = self.due / (4 * PIECE_WORDS);
        self.due %= 4 * PIECE_WORDS;
        turn.max(are_many.into())
    }

    /// The changed words of the scheme, the versions and the slots, with their current values. The first `versions`
    /// words are those of the scheme.
    fn delta(
        &mut self,
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
        delta.ranges().for_each(|words| self.unsent.insert(words));
        let slots = versions + TrustedVersions::WORDS * state.versions.buckets();
        for slot in entries {
            buffer.clear();
            self.directory.copy_words(slot, &mut buffer);
            delta.push(slots + ENTRY_WORDS * u64::from(slot.0), &buffer);
        }
        delta
    }

    /// Writes the pieces that are due, or all of them.
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
        // A new piece held only zeros before.
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

    /// Appends a range of words of the whole state. The first `tables` words are those of the scheme.
    pub(crate) fn copy_words(
        &self,
        state: &TrustedState<'_>,
        tables: u64,
        words: Range<u64>,
        into: &mut Vec<u32>,
    ) {
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

/// Appends the words of a range that lie in a table, whose entries have `each` words.
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

/// The name of a piece as of a checkpoint.
pub(crate) fn piece_name(piece: u64, number: u64) -> String {
    format!("piece/{piece}/{number}")
}

/// The name of the versions that were replaced after a checkpoint.
pub(crate) fn garbage_name(after: u64) -> String {
    format!("garbage/{after}")
}
