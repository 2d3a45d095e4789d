//! The trusted state of the last checkpoint on the trusted disk, read and authenticated.

use crate::engine::deferred_store::DeferredStore;
use crate::engine::scheme::{Scheme, SchemeParameters, Seed};
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::trusted::changed_words::ChangedWords;
use crate::trusted::checkpoint::Garbage;
use crate::trusted::checkpoint_writer::{
    CheckpointWriter, PIECE_WORDS, SUMMARY, delta_name, garbage_name, piece_name,
};
use crate::trusted::delta::Delta;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::payload_reader::PayloadReader;
use crate::trusted::seal_context::context;
use crate::trusted::sent_state::SentState;
use crate::trusted::slots::StashSlot;
use crate::trusted::stash_directory::{ENTRY_WORDS, Entry, PayloadOpener, StashDirectory};
use crate::trusted::state_tables::StateTable;
use crate::trusted::summary::{CheckpointHead, Summary};
use crate::trusted::word_tables::WordTables;
use ameles_core::snapshot::incremental::{Parts, Payloads};
use ameles_core::stash::payloads::PayloadSource;
use ameles_core::types::BlockId;
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::master_key::MasterKey;
use ameles_seal::versions::TrustedVersions;
use borsh::BorshDeserialize;
use std::iter::Peekable;
use std::ops::Range;
use std::rc::Rc;
use std::vec::IntoIter;

/// The trusted state without rows and master key.
pub(crate) struct State {
    pub(crate) head: CheckpointHead,
    pub(crate) scheme: PersistedScheme,
    pub(crate) versions: TrustedVersions,
    pub(crate) garbage: Vec<Garbage>,
    pub(crate) writer: CheckpointWriter,
}

/// The state of a scheme without its stash, which is in the directory.
pub(crate) struct PersistedScheme {
    /// The tables of words.
    pub(crate) tables: Vec<Vec<u32>>,
    pub(crate) rest: Vec<u8>,
}

impl State {
    /// Reads the state.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(crate) fn read(
        disk: &TrustedDisk,
        header: &VaultHeader,
        master: &MasterKey,
    ) -> Result<Self, VaultError> {
        let reader = Reader { disk, header, master };
        let mut summary = None;
        disk.read_table(StateTable::Summary, |_, sealed| {
            summary = Some(reader.open::<Summary>(sealed, SUMMARY)?);
            Ok(())
        })?;
        match summary {
            Some(summary) => reader.read(summary),
            None => Err(VaultError::Damaged("its checkpoint is missing".into())),
        }
    }

    /// Resumes the scheme, and starts to track its changes. With a payload reader, no payloads are read into memory.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(crate) fn resume(
        scheme: PersistedScheme,
        with: (Rc<DeferredStore>, Seed),
        side: (&TrustedDisk, &VaultHeader, &MasterKey),
        stash: (&StashDirectory, Option<&PayloadReader>),
    ) -> Result<Rc<dyn Scheme>, VaultError> {
        let contradiction = || VaultError::Damaged("its checkpoint contradicts itself".into());
        State::try_resume(scheme, with, side, stash)?.ok_or_else(contradiction)
    }

    /// Does the same as [`resume`](Self::resume), but returns `None` if the state contradicts itself.
    ///
    /// # Errors
    /// The errors of [`resume`](Self::resume).
    pub(crate) fn try_resume(
        scheme: PersistedScheme,
        (deferred_store, seed): (Rc<DeferredStore>, Seed),
        (disk, header, master): (&TrustedDisk, &VaultHeader, &MasterKey),
        (directory, payload_reader): (&StashDirectory, Option<&PayloadReader>),
    ) -> Result<Option<Rc<dyn Scheme>>, VaultError> {
        let entries = directory.entries().into_iter().peekable();
        let opener = PayloadOpener::new(header, master, &directory.keys())?;
        let payload_reader =
            payload_reader.map(|payload_reader| Box::new(payload_reader.clone()) as Box<dyn PayloadSource>);
        let mut slots = StashPayloads { disk, opener, entries, failure: None };
        let (order, payloads) = (directory.stash_order(), &mut slots);
        let PersistedScheme { tables, rest } = scheme;
        let parts = Parts { tables, rest: &rest, order: &order, payloads, payload_source: payload_reader };
        let scheme = header.parameters.scheme.resume(parts, deferred_store, seed);
        if let Some(failure) = slots.failure {
            return Err(failure);
        }
        let started = scheme.inspect(|scheme| {
            scheme.track_changes();
            scheme.note_origins();
        });
        Ok(started)
    }
}

/// The payloads of the stash, read from their slots one by one.
struct StashPayloads<'a> {
    disk: &'a TrustedDisk,
    opener: PayloadOpener,
    entries: Peekable<IntoIter<(StashSlot, Entry)>>,
    failure: Option<VaultError>,
}

impl StashPayloads<'_> {
    fn read(&mut self, payload: &mut [u8]) -> Result<(), VaultError> {
        let Some((slot, entry)) = self.entries.next() else { return Ok(()) };
        let mut sealed = vec![0; payload.len()];
        self.disk.read_slot(slot, &mut sealed)?;
        let mut opened = Vec::with_capacity(payload.len());
        self.opener.open(&entry, &mut sealed, &mut opened)?;
        payload.copy_from_slice(&opened);
        Ok(())
    }
}

impl Payloads for StashPayloads<'_> {
    fn next_block(&mut self) -> Option<BlockId> {
        self.entries.peek().map(|(_, entry)| entry.block)
    }

    fn fill(&mut self, payload: &mut [u8]) -> bool {
        self.failure = self.read(payload).err();
        self.failure.is_none()
    }
}

struct Reader<'a> {
    disk: &'a TrustedDisk,
    header: &'a VaultHeader,
    master: &'a MasterKey,
}

impl Reader<'_> {
    fn open<T: BorshDeserialize>(&self, sealed: &[u8], name: &str) -> Result<T, VaultError> {
        let damaged =
            |why: ErrorReason| VaultError::Damaged(why.about(format_args!("its {name} does not open")));
        let text = blob::open(self.master, Purpose::CHECKPOINT, &context(self.header, name), sealed)
            .map_err(|error| damaged(ErrorReason::of(error)))?;
        borsh::from_slice(&text).map_err(|error| damaged(ErrorReason::of(error)))
    }

    fn read(&self, summary: Summary) -> Result<State, VaultError> {
        let mut sizes = self.header.parameters.word_tables();
        sizes.push(ENTRY_WORDS.saturating_mul(summary.slots).min(ENTRY_WORDS << 32));
        let mut tables = WordTables::zeros(&sizes);
        let pieces = self.read_pieces(&summary, &mut tables)?;
        let sent = SentState::load(self.disk, self.header, self.master)?;
        let changed = self.apply_deltas((&summary, sent.number), &pieces, &mut tables)?;

        let contradicts = |why: &str| VaultError::Damaged(format!("its checkpoint: {why}").into());
        let directory = StashDirectory::of(&tables.take_last(), summary.keys);
        let directory = directory.ok_or_else(|| contradicts("its stash contradicts itself"))?;
        let versions =
            TrustedVersions::from_parts(summary.versions, &tables.take_last()).map_err(contradicts)?;
        let mut writer = CheckpointWriter::of(directory, pieces, summary.next_piece);
        writer.unsent = changed;
        Ok(State {
            head: summary.head,
            scheme: PersistedScheme { tables: tables.into_inner(), rest: summary.rest },
            versions,
            garbage: self.read_garbage()?,
            writer,
        })
    }

    /// Reads the pieces. Returns the checkpoint of each piece.
    fn read_pieces(&self, summary: &Summary, tables: &mut WordTables) -> Result<Vec<u64>, VaultError> {
        // Pieces that were never written are zeros.
        let mut of = vec![summary.oldest; tables.len().div_ceil(PIECE_WORDS) as usize];
        self.disk.read_table(StateTable::Words, |piece, value| {
            let damaged = || VaultError::Damaged(format!("piece {piece} of its state does not fit").into());
            let (number, sealed) = value.split_first_chunk().ok_or_else(damaged)?;
            let number = u64::from_le_bytes(*number);
            let words: Vec<u32> = self.open(sealed, &piece_name(piece, number))?;
            let is_known = (summary.oldest..=summary.head.number).contains(&number);
            let of = of.get_mut(piece as usize).filter(|_| is_known).ok_or_else(damaged)?;
            *of = number;
            if tables.set(piece * PIECE_WORDS, &words) { Ok(()) } else { Err(damaged()) }
        })?;
        Ok(of)
    }

    /// Applies the deltas. Returns the words that have changed since the checkpoint `sent`, or since a later one.
    fn apply_deltas(
        &self,
        (summary, sent): (&Summary, u64),
        pieces: &[u64],
        tables: &mut WordTables,
    ) -> Result<ChangedWords, VaultError> {
        let words: u64 = self.header.parameters.words();
        let (mut next, mut changed) = (None, ChangedWords::since(summary.head.number));
        self.disk.read_table(StateTable::Deltas, |number, sealed| {
            let damaged =
                |what: &str| VaultError::Damaged(format!("delta {number} of its state {what}").into());
            // Older deltas may be there as well, because the store lacks their words.
            let expected = next.unwrap_or(number.min(summary.oldest + 1));
            if number != expected {
                return Err(VaultError::Damaged(format!("delta {expected} of its state is missing").into()));
            }
            if next.is_none() {
                changed.since = sent.max(number.saturating_sub(1));
            }
            next = Some(number + 1);
            let delta: Delta = self.open(sealed, &delta_name(number))?;
            if number > sent {
                let below = |run: Range<u64>| run.start.min(words)..run.end.min(words);
                delta.ranges().for_each(|run| changed.insert(below(run)));
            }
            let is_older = |piece: u64| pieces.get(piece as usize).is_none_or(|of| *of < number);
            if delta.apply(tables, PIECE_WORDS, is_older) { Ok(()) } else { Err(damaged("does not fit")) }
        })?;
        let next = next.unwrap_or(summary.oldest + 1);
        if next == summary.head.number + 1 {
            return Ok(changed);
        }
        Err(VaultError::Damaged(format!("delta {next} of its state is missing").into()))
    }

    fn read_garbage(&self) -> Result<Vec<Garbage>, VaultError> {
        let mut garbage = Vec::new();
        self.disk.read_table(StateTable::Garbage, |after, sealed| {
            garbage.extend(self.open::<Vec<Garbage>>(sealed, &garbage_name(after))?);
            Ok(())
        })?;
        Ok(garbage)
    }
}

impl SchemeParameters {
    /// Returns the number of words of the scheme's state.
    pub(crate) fn words(&self) -> u64 {
        self.tables().iter().sum()
    }
}
