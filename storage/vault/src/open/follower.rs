//! A standby's copy of a vault, which follows the journal in the store.
//!
//! It starts from the newest checkpoint in the store, and steps its own engine through the records that come after it. So
//! it repeats all announced reads, and no others. It makes a checkpoint on its own trusted disk where the gateway has made
//! one. The disk counts as an unfinished restore until the standby takes over.

use super::choose_checkpoint::{choose_or_begin, list_checkpoints};
use super::header::raw_header_of_store;
use super::journal_reader::JournalReader;
use super::persisted_state::seal_journal;
use super::replay::Replay;
use super::restore::restore_rows;
use super::restore_notes;
use super::restored_journal::write_checkpoint;
use super::resume::{ResumedVault, resume};
use super::setup::Setup;
use super::shipped_checkpoint::{FoundManifest, fetch_head, fetch_manifest};
use super::state::State;
use crate::any_store::AnyStore;
use crate::engine::Engine;
use crate::engine::record::{Input, Record};
use crate::engine::scheme::Seed;
use crate::error::VaultError;
use crate::log::entry::Object;
use crate::log::merged_log::MergedLog;
use crate::trusted::checkpoint::{Garbage, Receipt};
use crate::trusted::checkpoint_writer::{CheckpointInfo, CheckpointWriter, TrustedState};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::position::Position;
use crate::trusted::row::RowChange;
use crate::trusted::rows::Rows;
use crate::trusted::seal_context::SealContext;
use crate::trusted::summary::CheckpointHead;
use ameles_seal::key_ring::KeyRing;
use futures::future::join;
use std::collections::VecDeque;

/// The reason why a vault has no standby.
const NO_HEARTBEATS: &str = "a standby needs a vault with `--journal standby` or `etcd`: create it with `ameles init --journal standby`, \
    or convert it with `ameles convert --journal standby`";
/// The number of replaced versions after which a follower asks which of them the checkpoint in the store still needs.
const MAX_GARBAGE: usize = 4096;

/// A standby's copy of a vault.
pub(super) struct Follower<'a> {
    pub(super) setup: &'a mut Setup<AnyStore>,
    pub(super) header: VaultHeader,
    pub(super) ring: KeyRing,
    /// The header as it is in the store.
    encoded: Vec<u8>,
    pub(super) engine: Engine<AnyStore>,
    pub(super) rows: Rows,
    pub(super) writer: CheckpointWriter,
    /// The replaced versions that may still be in the store.
    pub(super) garbage: Vec<Garbage>,
    pub(super) replay: Replay,
    pub(super) log: MergedLog,
    /// The position of the next object.
    pub(super) at: Position,
    /// The position before which everything was stepped through.
    pub(super) stepped: Position,
    /// The checkpoints on the trusted disk, the newest last. Earlier ones are kept while the store may need them.
    checkpoints: VecDeque<LocalCheckpoint>,
    /// The number of the checkpoint that was in the store when versions were last dropped. The gateway keeps what this one
    /// needs while the next one is the newest.
    shipped: u64,
    /// The checkpoint in the store whose earlier receipts were fetched last, and these.
    history: Option<(Receipt, ReceiptHistory)>,
}

/// The receipts of earlier checkpoints in the store: their numbers and digests.
pub(super) type ReceiptHistory = Vec<(u64, [u8; 32])>;

/// A checkpoint that a follower has made.
#[derive(Clone, Copy)]
struct LocalCheckpoint {
    number: u64,
    /// The number of the next record.
    sequence: u64,
    accesses: u64,
}

impl<'a> Follower<'a> {
    /// Writes the newest checkpoint in the store to the trusted disk, and starts to follow the journal after it. `None` if
    /// that checkpoint is from before the vault was converted, and lacks payloads.
    ///
    /// # Errors
    /// The errors of a restore that come before its claim. [`VaultError::Parameters`] if the vault has no heartbeats.
    pub(super) async fn begin(
        setup: &'a mut Setup<AnyStore>,
        expect: Option<&Receipt>,
    ) -> Result<Option<Self>, VaultError> {
        let encoded = raw_header_of_store(&setup.store).await?;
        let (header, ring) = VaultHeader::decode_with_ring(&encoded, &setup.master)?;
        if !header.parameters.journal.has_heartbeats() {
            return Err(VaultError::Parameters(NO_HEARTBEATS.into()));
        }
        setup.disk.reserve().set_sizes(header.parameters.reserve());
        // The next attempt starts again. An opening refuses this disk.
        restore_notes::begin(&setup.disk, 0)?;
        let disk = setup.disk.clone();
        let (receipt, found) = choose_or_begin(setup, (&header, &ring), (&disk, expect)).await?;
        if found.scheme.has_origins {
            return Ok(None);
        }
        let newest = (found.versions.epochs().newest(), found.versions.counter());
        let (history, from) = (found.history.clone(), found.from);
        let rows = write_checkpoint(setup, (&header, &encoded), found)?;
        restore_rows(setup, &header, rows)?;
        restore_notes::record_receipt(&disk, &receipt, newest, history)?;

        let Setup { store, master, workers, entropy, .. } = &mut *setup;
        let (side, with) = ((&disk, &header, &*master), (store.clone(), workers.clone()));
        let resumed = resume(State::read(&disk, &header, master)?, (side, &ring), with, entropy)?;
        let ResumedVault { head, engine, garbage, writer } = resumed;
        let rows = Rows::open(disk.clone(), master.clone(), header.vault, header.parameters.rows_bytes)?;
        let CheckpointHead { number, accesses, .. } = head;
        let at = from.object.unwrap_or(Position::first_of(receipt.epoch + 1));
        Ok(Some(Follower {
            setup,
            header,
            ring,
            encoded,
            engine,
            rows,
            writer,
            garbage,
            replay: Replay::default(),
            log: MergedLog::from(from.sequence),
            at,
            stepped: at,
            checkpoints: VecDeque::from([LocalCheckpoint { number, sequence: from.sequence, accesses }]),
            shipped: number,
            history: None,
        }))
    }

    /// The number of the last checkpoint on the trusted disk.
    pub(super) fn number(&self) -> u64 {
        self.last_checkpoint().number
    }

    fn last_checkpoint(&self) -> LocalCheckpoint {
        *self.checkpoints.back().expect("the follower starts with one")
    }

    /// Returns a reader of the journal from here on.
    pub(super) fn reader(&self) -> JournalReader {
        let (store, header, ring) = (self.setup.store.clone(), self.header.clone(), self.ring.clone());
        JournalReader { store, header, ring, at: self.at }
    }

    /// Takes the next object.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if it does not follow from those before it.
    pub(super) fn take(&mut self, object: Object) -> Result<(), VaultError> {
        let at = self.at;
        self.at = object.position_after(at);
        match object {
            Object::Entry(entry) => self.log.take(at, entry),
            Object::End(_) => Ok(()),
        }
    }

    /// Steps through what was taken from the journal.
    ///
    /// # Errors
    /// [`VaultError::OtherEngine`], tampering, and the errors of disk and store. The follower must begin again.
    pub(super) async fn step(&mut self) -> Result<(), VaultError> {
        let mut rows = self.log.take_rows();
        let mut records = self.log.take_records()?.into_iter();
        let mut next = self.log.next_record() - records.len() as u64;
        loop {
            let mut part: Vec<Record> = Vec::new();
            let mut seed = None;
            for record in records.by_ref() {
                seed = checkpoint_seed(&record);
                part.push(record);
                if seed.is_some() {
                    break;
                }
            }
            // A commit without rows takes as long, and no request waits for it.
            let committing = self.commit(std::mem::take(&mut rows), &part, next)?;
            next += part.len() as u64;
            let (committed, replayed) = join(committing, self.replay.step(&mut self.engine, part)).await;
            replayed?;
            committed?;
            let after = self.number();
            let replaced = self.engine.take_superseded().into_iter();
            self.garbage.extend(replaced.map(|version| Garbage::new(version, after)));
            if let Some(seed) = seed {
                self.checkpoint(seed, next)?;
                self.drop_deleted_garbage().await?;
            }
            if records.len() == 0 {
                break;
            }
        }
        self.stepped = self.at;
        Ok(())
    }

    /// Starts to commit changes of rows and the records from `first` on, together.
    fn commit(
        &mut self,
        rows: Vec<RowChange>,
        records: &[Record],
        first: u64,
    ) -> Result<impl Future<Output = Result<(), VaultError>> + use<>, VaultError> {
        let Setup { disk, master, entropy, .. } = &mut *self.setup;
        let sealed = seal_journal(records, &self.header, master, entropy, first)?;
        let queued_rows = self.rows.queue_without_log(rows, || entropy.salt())?;
        let (queued, disk) = (disk.enqueue_records(sealed), disk.clone());
        Ok(async move {
            let commit = move |disk: &TrustedDisk| {
                disk.commit(queued_rows)?;
                disk.commit(queued)?;
                disk.bound_journal()
            };
            disk.run_blocking(commit).await
        })
    }

    /// Makes a checkpoint on the trusted disk, in which randomness continues from this seed.
    fn checkpoint(&mut self, seed: Seed, sequence: u64) -> Result<(), VaultError> {
        let (last, accesses) = (self.last_checkpoint(), self.engine.accesses());
        let made = LocalCheckpoint { number: last.number + 1, sequence, accesses };
        let info = CheckpointInfo {
            head: CheckpointHead { number: made.number, sequence, accesses, seed },
            since: accesses - last.accesses,
            rewritten: self.engine.take_rewritten(),
            garbage: &self.garbage,
            in_store: None,
        };
        let Setup { disk, master, entropy, .. } = &mut *self.setup;
        let seal = SealContext { header: &self.header, master, entropy };
        let (engine, writer) = (&self.engine, &mut self.writer);
        let change = engine.sealed.with_versions(|versions| {
            writer.build_checkpoint(&TrustedState { scheme: &*engine.scheme, versions }, info, seal)
        })?;
        self.engine.check_payload_reads()?;
        disk.commit_state(self.header.parameters.block(), &change)?;
        self.writer.directory.on_committed();
        self.engine.scheme.release_payloads();
        self.checkpoints.push_back(made);
        Ok(())
    }

    /// Drops the replaced versions that the gateway may have deleted, if there are many: the checkpoint in the store was
    /// made after their replacement.
    async fn drop_deleted_garbage(&mut self) -> Result<(), VaultError> {
        if self.garbage.len() < MAX_GARBAGE {
            return Ok(());
        }
        let Some(FoundManifest { from, .. }) = self.newest_manifest().await? else { return Ok(()) };
        let shipped = self.checkpoints.iter().rfind(|local| local.sequence <= from.sequence);
        if let Some(LocalCheckpoint { number, .. }) =
            shipped.copied().filter(|local| local.number > self.shipped)
        {
            let kept_from = std::mem::replace(&mut self.shipped, number);
            self.garbage.retain(|garbage| garbage.after >= kept_from);
            self.checkpoints.retain(|local| local.number >= kept_from);
        }
        Ok(())
    }

    /// The manifest of the newest checkpoint in the store; `None` if there is no checkpoint.
    ///
    /// # Errors
    /// [`VaultError::Tampered`], and the errors of the store.
    pub(super) async fn newest_manifest(&self) -> Result<Option<FoundManifest>, VaultError> {
        let store = &self.setup.store;
        loop {
            let Some(order) = list_checkpoints(store).await?.pop() else { return Ok(None) };
            match fetch_manifest(store, (&self.header, &self.ring), order).await {
                Err(error) if error.is_tampering() => {
                    // The gateway may have shipped a newer checkpoint and removed this one.
                    if list_checkpoints(store).await?.pop() <= Some(order) {
                        return Err(error);
                    }
                }
                found => return found.map(Some),
            }
        }
    }

    /// Returns the newest manifest in the store if a follower that has all objects before `from` can continue it, and the
    /// header is still the same. Otherwise the objects that come next may have been deleted, or sealed with another key.
    ///
    /// # Errors
    /// The errors of the store, and tampering.
    pub(super) async fn reachable_manifest(&self, from: Position) -> Result<Reachable, VaultError> {
        if raw_header_of_store(&self.setup.store).await? != self.encoded {
            return Ok(Reachable::No);
        }
        let newest = self.newest_manifest().await?;
        let first = newest.as_ref().and_then(|found| found.from.object);
        if first.is_some_and(|first| first > from) { Ok(Reachable::No) } else { Ok(Reachable::Yes(newest)) }
    }

    /// Returns the receipts of the checkpoints before this one. A takeover records them. They are fetched only once, so
    /// that a takeover need not wait for them if the gateway was late before.
    ///
    /// # Errors
    /// [`VaultError::Tampered`], and the errors of the store.
    pub(super) async fn receipts_before(
        &mut self,
        found: &FoundManifest,
    ) -> Result<ReceiptHistory, VaultError> {
        if let Some((receipt, history)) = &self.history
            && *receipt == found.receipt
        {
            return Ok(history.clone());
        }
        let head = fetch_head(&self.setup.store, (&self.header, &self.ring), &found.manifest).await?;
        self.history = Some((found.receipt, head.history.clone()));
        Ok(head.history)
    }

    /// Returns whether this follower must begin again from the newest checkpoint.
    ///
    /// # Errors
    /// The errors of [`reachable_manifest`](Self::reachable_manifest).
    pub(super) async fn is_behind(&self) -> Result<bool, VaultError> {
        Ok(matches!(self.reachable_manifest(self.stepped).await?, Reachable::No))
    }
}

/// The answer to the question whether a follower's journal reaches up to the newest checkpoint in the store.
pub(super) enum Reachable {
    /// The manifest of that checkpoint, if there is one: the journal reaches up to it.
    Yes(Option<FoundManifest>),
    No,
}

/// The seed of a checkpoint, if the record is of one.
fn checkpoint_seed(record: &Record) -> Option<Seed> {
    match record.input {
        Input::Checkpoint(seed) => Some(seed),
        _ => None,
    }
}
