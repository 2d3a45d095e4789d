//! The trusted state at rest, as the last opening left it: the state of its checkpoint, and the journal after it. All
//! of it is authenticated.

use super::header::{agree_on_header, read_header_with_ring};
use super::restore_notes;
use super::state::State;
use crate::engine::record::{Effect, Input, Record};
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::session::status::OpeningFigures;
use crate::store::VaultStore;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use ameles_core::types::Version;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::key_ring::KeyRing;
use ameles_seal::master_key::MasterKey;
use ameles_seal::record::{RecordOpener, RecordSealer};
use tokio::time::Instant;

/// The trusted state at rest, with its journal.
pub(crate) struct PersistedState {
    pub(crate) header: VaultHeader,
    pub(crate) ring: KeyRing,
    pub(crate) state: State,
    /// The records of the journal, in order.
    pub(crate) records: Vec<Record>,
    /// The number of the next record.
    pub(crate) sequence: u64,
    /// The newest version that the trusted disk knows of.
    pub(crate) known: Version,
    /// The time that reading took.
    pub(crate) opening: OpeningFigures,
}

impl PersistedState {
    /// Reads the state of a vault that is not being restored, and whose store holds the same header.
    ///
    /// # Errors
    /// [`VaultError::RestoreUnfinished`], and the errors of [`read_during_restore`](Self::read_during_restore).
    pub(crate) async fn read<U: VaultStore>(
        disk: &TrustedDisk,
        store: &U,
        master: &MasterKey,
    ) -> Result<Self, VaultError> {
        let keyed_header = read_header_with_ring(disk, master)?;
        if restore_notes::is_unfinished(disk)? {
            return Err(VaultError::RestoreUnfinished);
        }
        Self::of(keyed_header, disk, store, master).await
    }

    /// Reads the state that a restore has just written.
    ///
    /// # Errors
    /// [`VaultError::NoVault`], [`VaultError::Damaged`], and the errors of the header.
    pub(crate) async fn read_during_restore<U: VaultStore>(
        disk: &TrustedDisk,
        store: &U,
        master: &MasterKey,
    ) -> Result<Self, VaultError> {
        Self::of(read_header_with_ring(disk, master)?, disk, store, master).await
    }

    async fn of<U: VaultStore>(
        (header, ring): (VaultHeader, KeyRing),
        disk: &TrustedDisk,
        store: &U,
        master: &MasterKey,
    ) -> Result<Self, VaultError> {
        let mut opening = OpeningFigures::default();
        let began = Instant::now();
        agree_on_header(disk, store, master).await?;
        opening.store = began.elapsed();
        let began = Instant::now();
        let state = State::read(disk, &header, master)?;
        opening.state = began.elapsed();
        let began = Instant::now();
        let (records, sequence) = read_journal(disk, &header, master, state.head.sequence)?;
        opening.journal = began.elapsed();
        opening.records = records.len() as u64;
        let restored = Version { epoch: restore_notes::epoch(disk)?, counter: 0 };
        let known = newest_known(&state, &records).max(restored);
        Ok(PersistedState { header, ring, state, records, sequence, known, opening })
    }
}

/// Reads, opens and decodes the journal. Returns the number of the next record, too.
fn read_journal(
    disk: &TrustedDisk,
    header: &VaultHeader,
    master: &MasterKey,
    first: u64,
) -> Result<(Vec<Record>, u64), VaultError> {
    let cipher = header.parameters.cipher()?;
    let mut opener: Option<(Salt, RecordOpener)> = None;
    let mut records = Vec::new();
    let mut next = first;
    for (sequence, entry) in disk.journal()? {
        let damaged =
            || VaultError::Damaged(format!("record {sequence} of its journal does not open").into());
        if sequence != next {
            return Err(VaultError::Damaged(format!("record {next} of its journal is missing").into()));
        }
        next += 1;
        let (salt, sealed) = entry.split_first_chunk().ok_or_else(damaged)?;
        let salt = Salt(*salt);
        if opener.as_ref().is_none_or(|(of, _)| *of != salt) {
            opener =
                Some((salt, RecordOpener::new(master, Purpose::JOURNAL, cipher, &salt, &header.vault.0)));
        }
        let mut text = Vec::new();
        if let Some((_, opener)) = &opener {
            opener.open(sequence, sealed, &mut text).map_err(|_| damaged())?;
        }
        records.push(Record::decode(&text).ok_or_else(damaged)?);
    }
    Ok((records, next))
}

/// Seals records, numbered from `first`, so that [`read_journal`] can read them.
///
/// # Errors
/// [`VaultError::Damaged`] if there are more records than a key may seal.
pub(crate) fn seal_journal(
    records: &[Record],
    header: &VaultHeader,
    master: &MasterKey,
    entropy: &mut Entropy,
    first: u64,
) -> Result<Vec<(u64, Vec<u8>)>, VaultError> {
    let (cipher, salt) = (header.parameters.cipher()?, entropy.salt());
    let mut sealer = RecordSealer::new(master, Purpose::JOURNAL, cipher, &salt, &header.vault.0);
    let damaged = |error| VaultError::Damaged(ErrorReason::of(error));
    let mut sealed = Vec::with_capacity(records.len());
    for (sequence, record) in (first..).zip(records) {
        let mut bytes = salt.0.to_vec();
        let text = borsh::to_vec(record).expect("a write to memory does not fail");
        sealer.seal(sequence, &text, &mut bytes).map_err(damaged)?;
        sealed.push((sequence, bytes));
    }
    Ok(sealed)
}

/// The newest version that the trusted disk knows of.
fn newest_known(state: &State, records: &[Record]) -> Version {
    let start = Version { epoch: state.versions.epochs().newest(), counter: state.versions.counter() };
    records.iter().fold(start, |newest, record| {
        let begun = match &record.input {
            Input::Epoch(epoch, _) => Version { epoch: epoch.number, counter: 0 },
            _ => newest,
        };
        let written = record.announced.iter().filter_map(|announced| match &announced.effect {
            Effect::Write(versions) => versions.iter().map(|(_, version)| *version).max(),
            Effect::Read(_) => None,
        });
        written.fold(newest.max(begun), Ord::max)
    })
}
