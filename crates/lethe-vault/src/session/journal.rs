//! The journal: records of steps that are not durable yet, and the work that waits until they are.

use super::identity::Identity;
use crate::engine::gate::OperationId;
use crate::engine::record::{Input, Record};
use crate::engine::work::Work;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::reason::Reason;
use crate::trusted::header::VaultHeader;
use lethe_seal::derive::{Purpose, Salt};
use lethe_seal::master_key::MasterKey;
use lethe_seal::record::{RecordError, RecordSealer};
use tokio::time::Instant;

/// A record as the trusted disk takes it, with its number.
type SealedRecord = (u64, Vec<u8>);

/// See the module.
pub(super) struct Journal {
    sealer: RecordSealer,
    salt: Salt,
    /// The number of the next record.
    sequence: u64,
    records: Vec<Record>,
    work: Vec<(OperationId, Work)>,
    /// The moment of the first step that has not been flushed yet.
    stepped_at: Option<Instant>,
    bytes: u64,
}

impl Journal {
    pub(super) fn new(
        header: &VaultHeader,
        master: &MasterKey,
        entropy: &mut Entropy,
        sequence: u64,
    ) -> Result<Self, VaultError> {
        let salt = entropy.salt();
        Ok(Journal {
            sealer: sealer(header, master, &salt)?,
            salt,
            sequence,
            records: Vec::new(),
            work: Vec::new(),
            stepped_at: None,
            bytes: 0,
        })
    }

    /// The number of the next record.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Bytes sealed so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes that a step begins.
    pub(super) fn begins(&mut self) {
        self.stepped_at.get_or_insert_with(Instant::now);
    }

    /// Notes that a step was made: nothing of its work may leave before its record is durable.
    pub(super) fn push(&mut self, record: Record, work: impl IntoIterator<Item = (OperationId, Work)>) {
        self.records.push(record);
        self.work.extend(work);
    }

    /// The records to be made durable now, sealed, by number; none if nothing depends on them yet.
    pub(super) fn take_pressing(
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

    /// Takes the moment at which the steps began that are durable now, and their work.
    pub(super) fn take_work(&mut self) -> (Instant, Vec<(OperationId, Work)>) {
        (self.stepped_at.take().unwrap_or_else(Instant::now), std::mem::take(&mut self.work))
    }

    /// Notes that a checkpoint is durable: the records lie before it.
    pub(super) fn forget(&mut self) {
        self.records.clear();
    }

    fn seal(
        &mut self,
        record: &Record,
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<SealedRecord, VaultError> {
        let text = borsh::to_vec(record).map_err(|error| VaultError::Damaged(Reason::of(error)))?;
        let sequence = self.sequence;
        self.sequence += 1;
        let mut sealed = self.salt.0.to_vec();
        if let Err(RecordError::Exhausted) = self.sealer.seal(sequence, &text, &mut sealed) {
            self.salt = entropy.salt();
            self.sealer = sealer(&identity.header, &identity.master, &self.salt)?;
            sealed = self.salt.0.to_vec();
            let sealing = self.sealer.seal(sequence, &text, &mut sealed);
            sealing.map_err(|error| VaultError::Damaged(Reason::of(error)))?;
        }
        Ok((sequence, sealed))
    }
}

fn sealer(header: &VaultHeader, master: &MasterKey, salt: &Salt) -> Result<RecordSealer, VaultError> {
    let cipher = header.parameters.cipher()?;
    Ok(RecordSealer::new(master, Purpose::JOURNAL, cipher, salt, &header.vault.0))
}
