//! The journal of a session: records of steps that are not durable yet, and the work that waits for them.

use super::Log;
use super::identity::Identity;
use crate::engine::deferred_store::OperationId;
use crate::engine::record::{Input, Record};
use crate::engine::work::Work;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::trusted::header::{JournalPlace, VaultHeader};
use crate::trusted::position::Position;
use crate::trusted::unlogged_commits::CommitId;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_seal::record::{RecordError, RecordSealer};
use tokio::time::Instant;

/// A sealed record with its number, as the trusted disk stores it.
type SealedRecord = (u64, Vec<u8>);

/// The records and the work of steps that are not durable yet.
pub(super) struct Journal {
    sealer: RecordSealer,
    salt: Salt,
    /// The number of the next record.
    sequence: u64,
    records: Vec<Record>,
    work: Vec<(OperationId, Work)>,
    /// The time of the first step that was not flushed yet.
    stepped_at: Option<Instant>,
    bytes: u64,
    /// The journal in the store, if there is one.
    pub(super) log: Option<Log>,
}

impl Journal {
    pub(super) fn new(
        identity: &Identity,
        entropy: &mut Entropy,
        sequence: u64,
        log: Option<Log>,
    ) -> Result<Self, VaultError> {
        let salt = entropy.salt();
        Ok(Journal {
            sealer: sealer(&identity.header, &identity.master, &salt)?,
            salt,
            sequence,
            records: Vec::new(),
            work: Vec::new(),
            stepped_at: None,
            bytes: 0,
            log,
        })
    }

    /// The number of the next record.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns whether a log object is not known to be in the store. No caller is answered meanwhile.
    pub(super) fn has_pending_object(&self) -> bool {
        self.log.as_ref().is_some_and(Log::is_pending)
    }

    /// Returns whether a change of rows waits for a log object.
    pub(super) fn has_waiting_rows(&self) -> bool {
        self.log.as_ref().is_some_and(Log::has_waiting_rows)
    }

    /// The note that is stored with the record of a batch that has a log object, and the last commit of rows that the
    /// store is known to hold.
    pub(super) fn object_note(&self) -> Option<(Vec<u8>, CommitId)> {
        let log = self.log.as_ref().filter(|log| log.has_object())?;
        Some((borsh::to_vec(&log.next()).expect("a write to memory does not fail"), log.logged()))
    }

    /// The first object of the journal in the store that the current state does not hold. A restore has no such
    /// journal, and none follows it in its epoch.
    pub(super) fn log_position(&self, header: &VaultHeader, epoch: u32) -> Option<Position> {
        let is_kept = header.parameters.journal == JournalPlace::Store;
        is_kept.then(|| self.log.as_ref().map_or(Position::first_of(epoch), Log::next))
    }

    /// Returns the number of bytes of the sealed records so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records that a step starts.
    pub(super) fn on_step_started(&mut self) {
        self.stepped_at.get_or_insert_with(Instant::now);
    }

    /// Adds a step that was made. Its work may not leave before its record is durable.
    pub(super) fn push(&mut self, record: Record, work: impl IntoIterator<Item = (OperationId, Work)>) {
        self.records.push(record);
        self.work.extend(work);
    }

    /// Takes the records that must become durable now, sealed, with their numbers. `None` if nothing depends on them
    /// yet.
    pub(super) fn take_records_to_flush(
        &mut self,
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<Option<Vec<SealedRecord>>, VaultError> {
        let has_batch = self.records.iter().any(|record| matches!(record.input, Input::Batch(_)));
        if !has_batch && self.work.is_empty() {
            return Ok(None);
        }
        let records = std::mem::take(&mut self.records);
        let sealed = records.iter().map(|record| self.seal(record, identity, entropy));
        let sealed = sealed.collect::<Result<Vec<_>, _>>()?;
        self.bytes += sealed.iter().map(|(_, record)| record.len() as u64).sum::<u64>();
        Ok(Some(sealed))
    }

    /// Takes the start time of the steps that are durable now, and their work.
    pub(super) fn take_work(&mut self) -> (Instant, Vec<(OperationId, Work)>) {
        (self.stepped_at.take().unwrap_or_else(Instant::now), std::mem::take(&mut self.work))
    }

    /// Drops the records: a durable checkpoint comes after them.
    pub(super) fn clear_records(&mut self) {
        self.records.clear();
    }

    fn seal(
        &mut self,
        record: &Record,
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<SealedRecord, VaultError> {
        let text = borsh::to_vec(record).map_err(|error| VaultError::Damaged(ErrorReason::of(error)))?;
        let sequence = self.sequence;
        self.sequence += 1;
        let mut sealed = self.salt.0.to_vec();
        if let Err(RecordError::Exhausted) = self.sealer.seal(sequence, &text, &mut sealed) {
            self.salt = entropy.salt();
            self.sealer = sealer(&identity.header, &identity.master, &self.salt)?;
            sealed = self.salt.0.to_vec();
            let sealing = self.sealer.seal(sequence, &text, &mut sealed);
            sealing.map_err(|error| VaultError::Damaged(ErrorReason::of(error)))?;
        }
        Ok((sequence, sealed))
    }
}

fn sealer(header: &VaultHeader, master: &MasterKey, salt: &Salt) -> Result<RecordSealer, VaultError> {
    let cipher = header.parameters.cipher()?;
    Ok(RecordSealer::new(master, Purpose::JOURNAL, cipher, salt, &header.vault.0))
}
