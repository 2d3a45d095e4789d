//! The steps of a session that upload a checkpoint: its pieces, and the manifest last.

use super::{CheckpointUpload, Object, UploadedCheckpoint};
use crate::engine::Engine;
use crate::engine::scheme::Seed;
use crate::error::VaultError;
use crate::log::{FIRST_KEPT_NOTE, FIRST_NEEDED_NOTE, read_note};
use crate::session::Session;
use crate::session::checkpoints::{ATTEMPTED_NOTE, Checkpoints};
use crate::session::event::Event;
use crate::session::key_change::KeyChange;
use crate::session::pace::{LocalWork, next_instant};
use crate::session::status::UploadFigures;
use crate::store::{SHIPPED_NOTE, VaultStore};
use crate::trusted::changed_words::ChangedWords;
use crate::trusted::checkpoint::{ShippedCheckpoint, blob_name, digest};
use crate::trusted::delta::Delta;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::journal_point::JournalPoint;
use crate::trusted::long_notes::{SENT_NOTE, STATE_NOTE};
use crate::trusted::payload_pieces::PayloadPieceWriter;
use crate::trusted::position::Position;
use crate::trusted::rows_part::{RowBytes, RowsPart};
use crate::trusted::seal_context::SealContext;
use crate::trusted::sent_payloads::{NextCheckpoint, Shipment};
use crate::trusted::sent_state::{SentCheckpoint, StatePlan};
use crate::trusted::shipped_piece_name::piece_name;
use crate::trusted::shipped_state::{
    PIECE_WORDS, ShippedPoint, ShippedStateHeader, ShippedStateParts, ShippedStateWriter,
};
use crate::trusted::stash_directory::PayloadOpener;
use ameles_core::store::Untrusted;
use ameles_core::types::BlockId;
use ameles_seal::versions::TrustedVersions;
use ameles_store::Blobs;
use std::collections::HashSet;
use std::ops::Range;
use tokio::time::Instant;

impl<U: VaultStore> Session<U> {
    /// Starts to upload the current state, which is that of the newest checkpoint. Nothing is in flight.
    pub(in crate::session) fn start_upload(&mut self, began: Instant, seed: Seed) -> Result<(), VaultError> {
        let number = self.checkpoints.number;
        // The snapshot has every row that was noted under this mark.
        let row_mark = self.disk.next_row_mark();
        let rows = self.rows.snapshot()?;
        let Session { engine, identity, checkpoints, figures, .. } = self;
        let (header, epoch) = (&identity.header, identity.epoch);
        let keeps_from = self.garbage.change.as_ref().map_or(0, KeyChange::keeps_from);
        let next = NextCheckpoint { epoch, number, accesses: engine.accesses(), keeps_from };
        let mut plan = checkpoints.sent.state.plan(&header.parameters, next);
        let (delta, words) = copy_unsent_words(engine, header, checkpoints, &mut plan);
        let head = ShippedStateHeader {
            point: ShippedPoint { number, epoch, accesses: engine.accesses() },
            rest: engine.scheme.rest(),
            versions: engine.sealed.with_versions(TrustedVersions::head),
            history: checkpoints.history.clone(),
            delta: 0,
            words: (0, 0),
            stash: 0,
            rows: RowBytes::default(),
        };
        let object = self.journal.log_position(header, epoch);
        let from = JournalPoint { object, sequence: self.journal.sequence(), seed };
        let newest = (head.versions.newest_epoch(), head.versions.counter());
        let directory = &mut checkpoints.writer.directory;
        let opener = PayloadOpener::new(header, &identity.master, &directory.keys())?;
        let order = directory.stash_order();
        let stash = directory.entries();
        let first = stash.first().copied();
        let mut origins: HashSet<BlockId> = HashSet::new();
        if header.parameters.uses_origins() {
            origins.extend(engine.scheme.origins().slots.into_iter().map(|(block, _)| block));
        }
        let unsaved = stash.into_iter().filter(|(_, entry)| !origins.contains(&entry.block)).collect();
        let Shipment { places, entries, then: payloads } =
            checkpoints.sent.payloads.plan(&header.parameters, unsaved, next);
        directory.pin();
        checkpoints.on_upload_started();
        let of_state = header.parameters.part_room(plan.words, plan.rows).bytes();
        let of = of_state + places * header.parameters.place_bytes();
        figures.upload = Some(UploadFigures { sent: 0, of });
        figures.upload_began = Some(began);
        let (disk, parameters) = (self.disk.clone(), header.parameters.clone());
        let load = move || {
            let rows = RowsPart::read(rows, &mut plan)?;
            let (room, cursor) = (parameters.part_room(plan.words, plan.rows), rows.cursor);
            let writer = ShippedStateWriter::new(ShippedStateParts { head, delta, words, order, rows }, room);
            let state = plan.into_sent(&parameters, row_mark, cursor);
            let sent = SentCheckpoint { payloads, state };
            let payloads = PayloadPieceWriter::new((places, entries), first, (opener, disk), &parameters);
            let next = Object::Manifest(Vec::new());
            Ok(Box::new(CheckpointUpload {
                writer,
                payloads,
                sent,
                from,
                next,
                number,
                epoch,
                newest,
                began,
            }))
        };
        self.spawn_seal(load);
        Ok(())
    }

    /// Builds and seals the next piece of an upload on another thread.
    fn spawn_seal(
        &mut self,
        load: impl FnOnce() -> Result<Box<CheckpointUpload>, VaultError> + Send + 'static,
    ) {
        let (header, master) = (self.identity.header.clone(), self.identity.master.clone());
        let (disk, salt) = (self.disk.clone(), self.entropy.salt());
        let seal = move || {
            let mut upload = load()?;
            upload.seal_next(&header, &master, salt)?;
            Ok(upload)
        };
        self.dispatcher.spawn_background(Box::pin(async move {
            Event::Sealed(disk.run_blocking(move |_| seal()).await)
        }));
    }

    /// Sends the next object of an upload.
    pub(in crate::session) async fn send_upload(
        &mut self,
        upload: Box<CheckpointUpload>,
    ) -> Result<(), VaultError> {
        if let Object::Manifest(_) = upload.next {
            let attempt = borsh::to_vec(&upload.number).expect("a write to memory does not fail");
            self.dispatcher
                .run_on_disk(&self.disk, move |disk| disk.set_meta(ATTEMPTED_NOTE, &attempt))
                .await?;
        }
        let (identity, store) = (self.identity.clone(), self.engine.sealed.clone());
        let (instants, began) = (self.dispatcher.instants(), upload.began);
        let task = Box::pin(async move {
            let store = store.untrusted();
            let CheckpointUpload { number, epoch, newest, .. } = *upload;
            let sealed = match &upload.next {
                Object::Piece(piece, sealed) => {
                    let sent = put(store, piece_name(epoch, number, *piece), sealed).await;
                    return Event::PieceSent(sent.map(|()| upload));
                }
                Object::Manifest(sealed) => sealed,
            };
            let shipping = async {
                identity.claims(store).check(epoch).await?;
                next_instant(instants).await;
                put(store, blob_name(epoch, number), sealed).await?;
                Ok(ShippedCheckpoint { number, epoch, newest, digest: digest(sealed) })
            };
            let shipped = shipping.await;
            let CheckpointUpload { from, sent, .. } = *upload;
            Event::Shipped(shipped.map(|shipped| Box::new(UploadedCheckpoint { shipped, from, sent })))
        });
        self.dispatcher.send(LocalWork::Upload, began, task);
        Ok(())
    }

    /// Continues an upload after a piece has reached the store.
    pub(in crate::session) fn on_piece_sent(&mut self, mut upload: Box<CheckpointUpload>) {
        upload.began = Instant::now();
        if let (Some(figures), Object::Piece(_, sealed)) = (&mut self.figures.upload, &upload.next) {
            figures.sent = figures.of.min(figures.sent + sealed.len() as u64);
        }
        let words = copy_held_state_words(&self.engine, &self.identity.header, upload.writer.wanted());
        upload.writer.supply(words);
        self.spawn_seal(move || Ok(upload));
    }

    /// Records that a checkpoint has reached the store.
    pub(in crate::session) async fn on_shipped(
        &mut self,
        uploaded: Box<UploadedCheckpoint>,
    ) -> Result<(), VaultError> {
        let UploadedCheckpoint { shipped, from, sent } = *uploaded;
        let Session { identity, entropy, .. } = &mut *self;
        let mut seal = SealContext { header: &identity.header, master: &identity.master, entropy };
        let payloads = seal.seal(&sent.payloads, SENT_NOTE)?;
        let state = seal.seal(&sent.state, STATE_NOTE)?;
        let rows = (sent.state.rows_mark, sent.state.rows_needed_after(&self.identity.header.parameters));
        self.checkpoints.on_shipped(shipped, sent);
        self.figures.upload = None;
        self.figures.shipped_at = self.figures.upload_began;
        self.checkpoints.writer.directory.unpin();
        let note =
            borsh::to_vec(&(shipped, &self.checkpoints.history)).expect("a write to memory does not fail");
        let first_kept: Option<Position> = match self.identity.header.parameters.journal.has_heartbeats() {
            true => Some(read_note(&self.disk, FIRST_NEEDED_NOTE)?),
            false => None,
        };
        let noting = move |disk: &TrustedDisk| {
            // Written before the other notes: deletions follow from this one.
            let positions = [(FIRST_KEPT_NOTE, first_kept), (FIRST_NEEDED_NOTE, from.object)];
            let encode = |position| borsh::to_vec(&position).expect("a write to memory does not fail");
            let known = positions.into_iter().filter_map(|(name, position)| Some((name, encode(position?))));
            let known: Vec<(&str, Vec<u8>)> = known.collect();
            if !known.is_empty() {
                disk.set_metas(&known)?;
            }
            disk.note_sent(&[(SHIPPED_NOTE, &note), (SENT_NOTE, &payloads), (STATE_NOTE, &state)], rows)
        };
        self.dispatcher.run_on_disk(&self.disk, noting).await?;
        self.garbage.add_log_objects(first_kept.or(from.object));
        self.garbage.add_checkpoints_before(shipped);
        let receipt = self.checkpoints.receipt(self.identity.header.vault);
        self.checkpoints.answer(receipt);
        self.collect_garbage();
        Ok(())
    }
}

/// Copies the words that the plan sends: the encoded delta, and the words in turn, or the first of them if all are sent.
/// Nothing is in flight. If it is not known which words changed, or more buckets were rewritten than the plan has room
/// for, plans to send all words. Both are public.
fn copy_unsent_words<U: VaultStore>(
    engine: &Engine<U>,
    header: &VaultHeader,
    checkpoints: &mut Checkpoints,
    plan: &mut StatePlan,
) -> (Vec<u8>, (Range<u64>, Vec<u32>)) {
    let (number, sent) = (checkpoints.number, checkpoints.sent.state.number);
    let changed = std::mem::replace(&mut checkpoints.writer.unsent, ChangedWords::since(number));
    let (words, tables) = (header.parameters.words(), header.parameters.scheme.words());
    if !plan.words.is_whole() {
        let (mut delta, mut copied, mut rewritten) = (Delta::default(), Vec::new(), 0);
        for run in changed.runs(words) {
            copied.clear();
            copy_state_words(engine, header, run.clone(), &mut copied);
            delta.push(run.start, &copied);
            rewritten += (run.end.max(tables) - run.start.max(tables)) / TrustedVersions::WORDS;
        }
        let delta = borsh::to_vec(&delta).expect("a write to memory does not fail");
        let has_room = rewritten <= header.parameters.scheme.max_rewritten(plan.since);
        debug_assert!(
            !has_room || delta.len() as u64 <= plan.words.changes,
            "more words than accesses change"
        );
        if changed.since <= sent && has_room && delta.len() as u64 <= plan.words.changes {
            let turn = plan.words_in_turn();
            let mut in_turn = Vec::new();
            copy_state_words(engine, header, turn.clone(), &mut in_turn);
            return (delta, (turn, in_turn));
        }
        plan.words = plan.words.whole();
    }
    engine.scheme.hold_words();
    engine.sealed.hold_versions();
    (Vec::new(), (0..words, copy_held_state_words(engine, header, 0..words.min(PIECE_WORDS))))
}

/// Copies words of the scheme, and of the versions after them.
fn copy_state_words<U: VaultStore>(
    engine: &Engine<U>,
    header: &VaultHeader,
    words: Range<u64>,
    into: &mut Vec<u32>,
) {
    let tables = header.parameters.scheme.words();
    engine.scheme.copy_words(words.clone(), into);
    let versions = words.start.max(tables) - tables..words.end.max(tables) - tables;
    engine.sealed.with_versions(|table| table.copy_words(versions, into));
}

/// Copies words of the scheme, and of the versions after them, as they were when the upload started.
fn copy_held_state_words<U: VaultStore>(
    engine: &Engine<U>,
    header: &VaultHeader,
    words: Range<u64>,
) -> Vec<u32> {
    let tables = header.parameters.scheme.words();
    let mut copied = Vec::with_capacity((words.end - words.start) as usize);
    engine.scheme.copy_held_words(words.clone(), &mut copied);
    let versions = words.start.max(tables)..words.end.max(tables);
    if !versions.is_empty() {
        engine.sealed.copy_held_versions(versions.start - tables..versions.end - tables, &mut copied);
    }
    copied
}

/// Creates an object. If other bytes have its name, a copy of this machine has written them.
async fn put<U: Untrusted + Blobs>(store: &U, name: String, sealed: &[u8]) -> Result<(), VaultError> {
    if store.put_if_absent(&name, sealed).await? { Ok(()) } else { Err(VaultError::Copied(name)) }
}
