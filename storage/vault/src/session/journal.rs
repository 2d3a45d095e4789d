//! The journal of a session: records of steps that are not durable yet, and the work that waits for them.
//!
//! A **flush** makes the records of some steps durable. The session continues meanwhile. The next flush may start
//! before the last one has ended; the trusted disk then makes both durable with one sync if it can. Flushes end in the
//! order in which they started, and the work of each leaves when it ends.

use super::Log;
use super::identity::Identity;
use super::log::{LogObject, Stored};
use crate::engine::deferred_store::OperationId;
use crate::engine::record::{Input, Record};
use crate::engine::scheme::{MAX_BATCHES, Seed};
use crate::engine::work::Work;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::log::announcements::AnnouncedRecords;
use crate::trusted::header::VaultHeader;
use crate::trusted::position::Position;
use crate::trusted::unlogged_commits::CommitId;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_seal::record::{RecordError, RecordSealer};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// A sealed record with its number, as the trusted disk stores it.
pub(super) type SealedRecord = (u64, Vec<u8>);

/// Steps whose records are becoming durable.
pub(super) struct Flush {
    /// The time of the first step.
    pub(super) began: Instant,
    /// The work that waits for the records.
    pub(super) work: Vec<(OperationId, Work)>,
    /// The log objects of the batches or of the records, if there is a journal in the store.
    pub(super) objects: Vec<LogObject>,
    /// The number of batches that start in it.
    batches: usize,
}

/// The contents of a flush, for the journal on the trusted disk.
pub(super) struct Append {
    pub(super) records: Vec<SealedRecord>,
    /// The note of the last batch's log object, and the last commit of rows that the store is known to hold.
    pub(super) note: Option<(Vec<u8>, CommitId)>,
}

/// The records and the work of steps that are not durable yet.
pub(super) struct Journal {
    sealer: RecordSealer,
    salt: Salt,
    /// The number of the next record.
    sequence: u64,
    records: Vec<Record>,
    work: Vec<(OperationId, Work)>,
    /// The time of the first step since the last flush could have started.
    stepped_at: Option<Instant>,
    /// The flushes whose records are not durable on the trusted disk, in order.
    flushes: VecDeque<Flush>,
    /// The flushes before them whose log objects are not in the store, if the vault announces there.
    announcing: VecDeque<Flush>,
    bytes: u64,
    /// The seed of the next checkpoint, if it is announced in the store. Nothing may start before it is made.
    pub(super) checkpoint: Option<Seed>,
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
            flushes: VecDeque::new(),
            announcing: VecDeque::new(),
            bytes: 0,
            checkpoint: None,
            log,
        })
    }

    /// The number of the next record.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns whether the store has every record before the requests that it announces leave.
    pub(super) fn announces(&self) -> bool {
        self.log.as_ref().is_some_and(Log::announces)
    }

    /// The number of log objects that are not known to be in the store with all before them.
    pub(super) fn pending_objects(&self) -> usize {
        self.log.as_ref().map_or(0, Log::pending)
    }

    /// Returns whether a change of rows waits for a log object.
    pub(super) fn has_waiting_rows(&self) -> bool {
        self.log.as_ref().is_some_and(Log::has_waiting_rows)
    }

    /// The note that is stored with the record of a batch, if the batch has a log object; and the last commit of rows
    /// that the store is known to hold.
    fn object_note(&self) -> Option<(Vec<u8>, CommitId)> {
        let log = self.log.as_ref().filter(|log| log.has_object())?;
        Some((log.note().encode(), log.logged()))
    }

    /// The first object of the journal in the store that the current state does not hold. A restore has no such
    /// journal, and none follows it in its epoch.
    pub(super) fn log_position(&self, header: &VaultHeader, epoch: u32) -> Option<Position> {
        let is_kept = header.parameters.journal.is_in_store();
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

    /// Starts a flush of all steps so far, and returns what it appends. `None` if nothing depends on the records yet.
    pub(super) fn begin_flush(
        &mut self,
        identity: &Identity,
        entropy: &mut Entropy,
    ) -> Result<Option<Append>, VaultError> {
        let began = self.stepped_at.take().unwrap_or_else(Instant::now);
        let has_heartbeat = self.next_heartbeat().is_some_and(|due| due <= Instant::now());
        if self.is_full() || !(has_heartbeat || self.is_flush_needed()) {
            return Ok(None);
        }
        let batches = self.batches();
        let records = std::mem::take(&mut self.records);
        let first = self.sequence;
        let sealed = records.iter().map(|record| self.seal(record, identity, entropy));
        let sealed = sealed.collect::<Result<Vec<_>, _>>()?;
        self.bytes += sealed.iter().map(|(_, record)| record.len() as u64).sum::<u64>();
        if let Some(log) = self.log.as_mut().filter(|log| log.announces()) {
            log.build_records(AnnouncedRecords::new(first, records), identity, entropy)?;
        }
        let note = self.object_note();
        let objects = self.log.as_mut().map(Log::take_objects).unwrap_or_default();
        let work = std::mem::take(&mut self.work);
        self.flushes.push_back(Flush { began, work, objects, batches });
        Ok(Some(Append { records: sealed, note }))
    }

    /// Returns whether no further object may be on its way, in a vault that announces in the store.
    fn is_full(&self) -> bool {
        self.announces() && self.pending_objects() >= MAX_BATCHES as usize
    }

    /// The time at which a flush starts even if nothing depends on it, in a vault with heartbeats. There is none while
    /// objects are on their way that do as well.
    pub(super) fn next_heartbeat(&self) -> Option<Instant> {
        self.log.as_ref().filter(|_| !self.is_full()).and_then(Log::next_heartbeat)
    }

    /// Returns whether something depends on the records that no flush has taken. A checkpoint follows its own record.
    fn is_flush_needed(&self) -> bool {
        let is_awaited = |record: &Record| matches!(record.input, Input::Batch(_) | Input::Checkpoint(_));
        !self.work.is_empty() || self.records.iter().any(is_awaited)
    }

    /// The records of the oldest flush are durable on the trusted disk. Returns what can be sent now: its log objects,
    /// and its work, unless that waits for them.
    pub(super) fn on_durable(&mut self) -> Option<Flush> {
        let mut flush = self.flushes.pop_front()?;
        if !self.announces() {
            return Some(flush);
        }
        let (began, objects) = (flush.began, std::mem::take(&mut flush.objects));
        self.announcing.push_back(flush);
        Some(Flush { began, work: Vec::new(), objects, batches: 0 })
    }

    /// The store has a log object, which was sent at this time. Returns the work that waited for it, and what else follows.
    /// The journal was this session's when the last object was sent that is there with all before it.
    pub(super) fn on_logged(
        &mut self,
        (at, since): (Position, Duration),
    ) -> (Vec<(OperationId, Work)>, Stored) {
        let Some(log) = &mut self.log else { return Default::default() };
        let stored = log.on_logged(at, since);
        let announced = stored.objects.min(self.announcing.len());
        (self.announcing.drain(..announced).flat_map(|flush| flush.work).collect(), stored)
    }

    /// The store has the payloads of a log object.
    pub(super) fn on_payloads_stored(&mut self, at: Position) {
        self.log.iter_mut().for_each(|log| log.on_payloads_stored(at));
    }

    /// Returns whether the store lacks nothing that was sent to it, or will be.
    pub(super) fn is_settled(&self) -> bool {
        self.pending_objects() == 0 && self.log.as_ref().is_none_or(|log| log.unsettled_batches() == 0)
    }

    /// Returns whether a flush has not ended.
    pub(super) fn is_flushing(&self) -> bool {
        !self.flushes.is_empty() || !self.announcing.is_empty()
    }

    /// The number of batches whose records are not durable on the trusted disk, and in the store if they are announced
    /// there.
    pub(super) fn unrecorded_batches(&self) -> usize {
        let flushes = self.announcing.iter().chain(&self.flushes);
        self.batches() + flushes.map(|flush| flush.batches).sum::<usize>()
    }

    /// The number of batches whose callers may not be answered yet: the newest ones. Without announcements there, each
    /// batch has an object in the store. With them, payloads may have objects of their own.
    pub(super) fn unacknowledged_batches(&self) -> usize {
        if self.announces() {
            return self.unrecorded_batches() + self.log.as_ref().map_or(0, Log::unsettled_batches);
        }
        self.unrecorded_batches().max(self.pending_objects())
    }

    /// The number of batches in the records that no flush has taken.
    fn batches(&self) -> usize {
        self.records.iter().filter(|record| matches!(record.input, Input::Batch(_))).count()
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
