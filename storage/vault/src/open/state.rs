//! The trusted state as the last checkpoint left it on the trusted disk, read and authenticated.

use crate::engine::gate::Gate;
use crate::engine::scheme::{Scheme, SchemeParameters, Seed};
use crate::error::VaultError;
use crate::reason::Reason;
use crate::trusted::checkpoint::Garbage;
use crate::trusted::delta::Delta;
use crate::trusted::directory::{Directory, ENTRY_WORDS, Entry, PlaceOpener};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::keeper::PlaceKeeper;
use crate::trusted::ledger::{Ledger, PIECE_WORDS, SUMMARY, context, delta_name, garbage_name, piece_name};
use crate::trusted::part::Part;
use crate::trusted::places::PlaceId;
use crate::trusted::summary::Summary;
use crate::trusted::tables::Tables;
use ameles_core::snapshot::incremental::{Parts, Payloads};
use ameles_core::stash::payloads::PayloadSource;
use ameles_core::types::BlockId;
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::master_key::MasterKey;
use ameles_seal::versions::TrustedVersions;
use borsh::BorshDeserialize;
use std::iter::Peekable;
use std::rc::Rc;
use std::vec::IntoIter;

/// The trusted state, all of it but rows and master key.
pub(crate) struct State {
    pub(crate) number: u64,
    /// The number of the first journal record after it.
    pub(crate) sequence: u64,
    pub(crate) accesses: u64,
    pub(crate) seed: Seed,
    pub(crate) scheme: SchemeAtRest,
    pub(crate) versions: TrustedVersions,
    pub(crate) garbage: Vec<Garbage>,
    pub(crate) ledger: Ledger,
}

/// The state of a scheme but for the stash, which is in the directory.
pub(crate) struct SchemeAtRest {
    /// Tables of words.
    pub(crate) tables: Vec<Vec<u32>>,
    pub(crate) rest: Vec<u8>,
}

impl State {
    /// Reads the state.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and those of the disk.
    pub(crate) fn read(
        disk: &TrustedDisk,
        header: &VaultHeader,
        master: &MasterKey,
    ) -> Result<Self, VaultError> {
        let reader = Reader { disk, header, master };
        let mut summary = None;
        disk.read_part(Part::Summary, |_, sealed| {
            summary = Some(reader.open::<Summary>(sealed, SUMMARY)?);
            Ok(())
        })?;
        match summary {
            Some(summary) => reader.read(summary),
            None => Err(VaultError::Damaged("its checkpoint is missing".into())),
        }
    }

    /// Takes the scheme up, and begins to note its changes. Payloads that a keeper has are not read.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and those of the disk.
    pub(crate) fn resume(
        scheme: SchemeAtRest,
        with: (Rc<Gate>, Seed),
        side: (&TrustedDisk, &VaultHeader, &MasterKey),
        stash: (&Directory, Option<&PlaceKeeper>),
    ) -> Result<Rc<dyn Scheme>, VaultError> {
        let contradiction = || VaultError::Damaged("its checkpoint contradicts itself".into());
        State::try_to_take_up(scheme, with, side, stash)?.ok_or_else(contradiction)
    }

    /// The same; `None` if the state contradicts itself.
    ///
    /// # Errors
    /// As [`resume`](Self::take_up).
    pub(crate) fn try_to_take_up(
        scheme: SchemeAtRest,
        (gate, seed): (Rc<Gate>, Seed),
        (disk, header, master): (&TrustedDisk, &VaultHeader, &MasterKey),
        (directory, keeper): (&Directory, Option<&PlaceKeeper>),
    ) -> Result<Option<Rc<dyn Scheme>>, VaultError> {
        let entries = directory.entries().into_iter().peekable();
        let opener = PlaceOpener::new(header, master, &directory.keys())?;
        let keeper = keeper.map(|keeper| Box::new(keeper.clone()) as Box<dyn PayloadSource>);
        let mut places = Places { disk, opener, entries, failure: None };
        let (order, payloads) = (directory.order(), &mut places);
        let SchemeAtRest { tables, rest } = scheme;
        let parts = Parts { tables, rest: &rest, order: &order, payloads, payload_source: keeper };
        let scheme = header.parameters.scheme.resume(parts, gate, seed);
        if let Some(failure) = places.failure {
            return Err(failure);
        }
        Ok(scheme.inspect(|scheme| scheme.track_changes()))
    }
}

/// The payloads of the stash, read from their places one after the other.
struct Places<'a> {
    disk: &'a TrustedDisk,
    opener: PlaceOpener,
    entries: Peekable<IntoIter<(PlaceId, Entry)>>,
    failure: Option<VaultError>,
}

impl Places<'_> {
    fn read(&mut self, payload: &mut [u8]) -> Result<(), VaultError> {
        let Some((place, entry)) = self.entries.next() else { return Ok(()) };
        let mut sealed = vec![0; payload.len()];
        self.disk.read_place(place, &mut sealed)?;
        let mut opened = Vec::with_capacity(payload.len());
        self.opener.open(&entry, &mut sealed, &mut opened)?;
        payload.copy_from_slice(&opened);
        Ok(())
    }
}

impl Payloads for Places<'_> {
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
        let damaged = |why: Reason| VaultError::Damaged(why.about(format_args!("its {name} does not open")));
        let text = blob::open(self.master, Purpose::CHECKPOINT, &context(self.header, name), sealed)
            .map_err(|error| damaged(Reason::of(error)))?;
        borsh::from_slice(&text).map_err(|error| damaged(Reason::of(error)))
    }

    fn read(&self, summary: Summary) -> Result<State, VaultError> {
        let mut sizes = self.header.parameters.word_tables();
        sizes.push(ENTRY_WORDS.saturating_mul(summary.places).min(ENTRY_WORDS << 32));
        let mut tables = Tables::zeros(&sizes);
        let pieces = self.read_pieces(&summary, &mut tables)?;
        self.apply_deltas(&summary, &pieces, &mut tables)?;

        let contradicts = |why: &str| VaultError::Damaged(format!("its checkpoint: {why}").into());
        let directory = Directory::of(&tables.take_last(), summary.keys);
        let directory = directory.ok_or_else(|| contradicts("its stash contradicts itself"))?;
        let versions =
            TrustedVersions::from_parts(summary.versions, &tables.take_last()).map_err(contradicts)?;
        Ok(State {
            number: summary.number,
            sequence: summary.sequence,
            accesses: summary.accesses,
            seed: summary.seed,
            scheme: SchemeAtRest { tables: tables.into_inner(), rest: summary.rest },
            versions,
            garbage: self.read_garbage()?,
            ledger: Ledger::of(directory, pieces, summary.next_piece),
        })
    }

    /// Reads the pieces; returns the checkpoint that each is of.
    fn read_pieces(&self, summary: &Summary, tables: &mut Tables) -> Result<Vec<u64>, VaultError> {
        // What was never written are zeros.
        let mut of = vec![summary.oldest; tables.len().div_ceil(PIECE_WORDS) as usize];
        self.disk.read_part(Part::Words, |piece, value| {
            let damaged = || VaultError::Damaged(format!("piece {piece} of its state does not fit").into());
            let (number, sealed) = value.split_first_chunk().ok_or_else(damaged)?;
            let number = u64::from_le_bytes(*number);
            let words: Vec<u32> = self.open(sealed, &piece_name(piece, number))?;
            let is_known = (summary.oldest..=summary.number).contains(&number);
            let of = of.get_mut(piece as usize).filter(|_| is_known).ok_or_else(damaged)?;
            *of = number;
            if tables.set(piece * PIECE_WORDS, &words) { Ok(()) } else { Err(damaged()) }
        })?;
        Ok(of)
    }

    fn apply_deltas(&self, summary: &Summary, pieces: &[u64], tables: &mut Tables) -> Result<(), VaultError> {
        let mut next = summary.oldest + 1;
        self.disk.read_part(Part::Deltas, |number, sealed| {
            let damaged =
                |what: &str| VaultError::Damaged(format!("delta {number} of its state {what}").into());
            if number != next {
                return Err(VaultError::Damaged(format!("delta {next} of its state is missing").into()));
            }
            next += 1;
            let delta: Delta = self.open(sealed, &delta_name(number))?;
            let is_older = |piece: u64| pieces.get(piece as usize).is_none_or(|of| *of < number);
            if delta.apply(tables, PIECE_WORDS, is_older) { Ok(()) } else { Err(damaged("does not fit")) }
        })?;
        if next == summary.number + 1 {
            return Ok(());
        }
        Err(VaultError::Damaged(format!("delta {next} of its state is missing").into()))
    }

    fn read_garbage(&self) -> Result<Vec<Garbage>, VaultError> {
        let mut garbage = Vec::new();
        self.disk.read_part(Part::Garbage, |after, sealed| {
            garbage.extend(self.open::<Vec<Garbage>>(sealed, &garbage_name(after))?);
            Ok(())
        })?;
        Ok(garbage)
    }
}

impl SchemeParameters {
    /// Words of the scheme's state.
    pub(crate) fn words(&self) -> u64 {
        self.tables().iter().sum()
    }
}
