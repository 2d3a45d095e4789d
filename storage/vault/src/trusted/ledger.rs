//! The ledger of the trusted state: what of it stands on the trusted disk, and what the next checkpoint adds.
//!
//! A checkpoint writes a **delta**, the words that have changed; the **payloads** of blocks that have come into the
//! stash, each to a place of its own; and a few **pieces**, neighbouring words as they are now, one after the other
//! round all words. Once every piece is newer than a delta, the delta goes. So a checkpoint costs what was changed, and
//! an opening reads each word about twice.

use super::delta::Delta;
use super::directory::{Directory, ENTRY_WORDS, PlaceChanges};
use super::places::PlaceId;
use super::summary::Summary;
use crate::engine::scheme::{Scheme, Seed};
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::reason::Reason;
use crate::trusted::checkpoint::Garbage;
use crate::trusted::header::VaultHeader;
use crate::trusted::written::CheckpointBytes;
use ameles_core::stash::changes::StashChanges;
use ameles_core::types::{Bucket, Bytes};
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::master_key::MasterKey;
use ameles_seal::versions::TrustedVersions;
use std::collections::BTreeSet;
use std::ops::Range;

/// Words of a piece: 32 KiB.
pub(crate) const PIECE_WORDS: u64 = 8192;
/// Bytes of pieces that are written for each access: about as many as a delta has, so that there are never more bytes in
/// deltas than in pieces.
const PIECE_BYTES_PER_ACCESS: u64 = 128;

/// See the module.
pub(crate) struct Ledger {
    pub(crate) directory: Directory,
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
pub(crate) struct Moment<'a> {
    pub(crate) scheme: &'a dyn Scheme,
    pub(crate) versions: &'a TrustedVersions,
}

/// The facts of a checkpoint beside the state.
pub(crate) struct Facts<'a> {
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

/// The key and the source of salts that everything is sealed with.
pub(crate) struct SealWith<'a> {
    pub(crate) header: &'a VaultHeader,
    pub(crate) master: &'a MasterKey,
    pub(crate) entropy: &'a mut Entropy,
}

/// The changes of a checkpoint on the disk, sealed. The places are written first, all the rest in one transaction.
pub(crate) struct StateChange {
    pub(crate) number: u64,
    pub(crate) writes: Vec<(PlaceId, Vec<u8>)>,
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

impl StateChange {
    /// The change that lays a state down in which all words are zeros and no block is in the stash.
    pub(crate) fn first(summary: &Summary, mut seal: SealWith<'_>) -> Result<Self, VaultError> {
        let number = summary.number;
        Ok(StateChange {
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

impl Ledger {
    /// The ledger of a disk that holds no state but the payloads of the stash: the next checkpoint writes all the rest.
    pub(crate) fn over_payloads(directory: Directory) -> Self {
        Ledger { is_new: true, has_payloads: true, ..Ledger::of(directory, Vec::new(), 0) }
    }

    /// Has the next checkpoint write everything anew but the payloads, which lie where the directory says.
    pub(crate) fn write_anew_over_payloads(&mut self) {
        self.is_new = true;
        self.has_payloads = true;
    }

    /// Adds payloads of zeros, in places that stay vacant, up to so many: how many blocks came into the stash does not show
    /// by the time that a checkpoint takes.
    pub(crate) fn fill_up(&mut self, change: &mut StateChange, payloads: usize, block: Bytes) {
        let more = payloads.saturating_sub(change.writes.len());
        let spare = self.directory.spare(more).into_iter();
        change.writes.extend(spare.map(|place| (place, vec![0; block.0 as usize])));
    }

    /// The ledger of a disk that holds a state: `pieces` are the checkpoints that each piece is of.
    pub(crate) fn of(directory: Directory, pieces: Vec<u64>, next_piece: u64) -> Self {
        Ledger { directory, pieces, next_piece, due: 0, is_new: false, has_payloads: false }
    }

    /// Pieces of the state.
    pub(crate) fn pieces(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// Puts the changes of the next checkpoint together.
    pub(crate) fn write_down(
        &mut self,
        moment: &Moment<'_>,
        facts: Facts<'_>,
        mut seal: SealWith<'_>,
    ) -> Result<StateChange, VaultError> {
        let Facts { number, sequence, accesses, since, seed, rewritten, garbage } = facts;
        let tables = seal.header.parameters.scheme.words();
        let changes = moment.scheme.take_changes().expect("nothing is in flight at a checkpoint");
        let is_whole = std::mem::take(&mut self.is_new);
        let (mut words, mut stash) = (changes.words, changes.stash);
        if is_whole {
            let order = moment.scheme.stash_order();
            stash = match std::mem::take(&mut self.has_payloads) {
                true => StashChanges::default(),
                false => StashChanges { written: order.clone(), linked: order, removed: Vec::new() },
            };
            words.clear();
        }
        let look_at = &mut |block, look: &mut dyn FnMut(&[u8])| moment.scheme.with_payload(block, look);
        let seal_as = (seal.header, seal.master, &mut *seal.entropy);
        let PlaceChanges { writes, entries } = self.directory.take_over(stash, seal_as, look_at)?;
        let delta = match is_whole {
            true => Delta::default(),
            false => self.delta(moment, tables, (words, rewritten, entries)),
        };
        let turn = if is_whole { u64::MAX } else { self.turn(number, since) };
        let pieces = self.write_pieces(moment, (number, tables), turn, &mut seal)?;
        let oldest = self.pieces.iter().copied().min().unwrap_or(number);
        let summary = Summary {
            number,
            sequence,
            accesses,
            seed,
            rest: moment.scheme.rest(),
            versions: moment.versions.head(),
            places: self.directory.len(),
            keys: self.directory.keys(),
            oldest,
            next_piece: self.next_piece,
        };
        let fresh: Vec<Garbage> =
            garbage.iter().filter(|one| is_whole || one.after + 1 == number).copied().collect();
        let garbage_from = garbage.iter().map(|one| one.after).min().unwrap_or(number);
        Ok(StateChange {
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
        moment: &Moment<'_>,
        versions: u64,
        (words, mut rewritten, entries): (Vec<u64>, Vec<Bucket>, BTreeSet<PlaceId>),
    ) -> Delta {
        let (mut delta, mut buffer) = (Delta::default(), Vec::new());
        for word in words {
            buffer.clear();
            moment.scheme.copy_words(word..word + 1, &mut buffer);
            delta.push(word, &buffer);
        }
        rewritten.sort_unstable();
        rewritten.dedup();
        for bucket in rewritten {
            delta.push(versions + TrustedVersions::WORDS * bucket.0, moment.versions.words(bucket));
        }
        let places = versions + TrustedVersions::WORDS * moment.versions.buckets();
        for place in entries {
            buffer.clear();
            self.directory.copy_words(place, &mut buffer);
            delta.push(places + ENTRY_WORDS * u64::from(place.0), &buffer);
        }
        delta
    }

    /// Writes the pieces whose turn it is: so many, or all.
    fn write_pieces(
        &mut self,
        moment: &Moment<'_>,
        (number, tables): (u64, u64),
        turn: u64,
        seal: &mut SealWith<'_>,
    ) -> Result<Vec<(u64, Vec<u8>)>, VaultError> {
        let words =
            tables + TrustedVersions::WORDS * moment.versions.buckets() + ENTRY_WORDS * self.directory.len();
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
                self.copy_words(moment, tables, range, &mut words);
                Ok((piece, seal.seal(&words, &piece_name(piece, number))?))
            })
            .collect()
    }

    /// Appends neighbouring words of the whole state; the scheme's are the first `tables`.
    fn copy_words(&self, moment: &Moment<'_>, tables: u64, words: Range<u64>, into: &mut Vec<u32>) {
        moment.scheme.copy_words(words.clone(), into);
        let each = TrustedVersions::WORDS;
        let places = tables + each * moment.versions.buckets();
        copy_entries(&words, tables..places, each, into, |bucket, entry| {
            entry.extend_from_slice(moment.versions.words(Bucket(bucket)));
        });
        let end = places + ENTRY_WORDS * self.directory.len();
        copy_entries(&words, places..end, ENTRY_WORDS, into, |place, entry| {
            self.directory.copy_words(PlaceId(place as u32), entry);
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

impl SealWith<'_> {
    fn seal(&mut self, text: &impl borsh::BorshSerialize, name: &str) -> Result<Vec<u8>, VaultError> {
        let text = borsh::to_vec(text).map_err(|error| VaultError::Damaged(Reason::of(error)))?;
        let (cipher, salt) = (self.header.parameters.cipher()?, self.entropy.salt());
        Ok(blob::seal(self.master, Purpose::CHECKPOINT, &context(self.header, name), cipher, salt, &text))
    }
}

/// The context under which a part of the trusted state is sealed.
pub(crate) fn context(header: &VaultHeader, name: &str) -> Vec<u8> {
    [header.vault.0.as_slice(), name.as_bytes()].concat()
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
