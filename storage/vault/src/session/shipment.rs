//! Shipments: checkpoints on their way to the store, piece by piece, with all rows.
//!
//! A shipment takes a while. It holds the state of its checkpoint's moment: rows in memory, the blocks of the stash in their
//! places, which are not written meanwhile, and of the words those that change before a piece takes them up. Pieces are put
//! together and sealed on a thread of their own; accesses and checkpoints on the trusted disk go on. The manifest is sent
//! last, and makes the pieces a checkpoint.

use super::Session;
use super::checkpoints::SHIPPING;
use super::outbox::Event;
use crate::engine::Engine;
use crate::error::VaultError;
use crate::log::FROM;
use crate::session::pace::{Local, next_instant};
use crate::store::{SHIPPED, VaultStore};
use crate::trusted::checkpoint::{Shipped, blob_name, blob_order, digest};
use crate::trusted::directory::PlaceOpener;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::freight::{
    Freight, FreightHead, FreightParts, Manifest, PIECE_WORDS, PREFIX, piece_name, piece_order,
};
use crate::trusted::header::VaultHeader;
use crate::trusted::ledger::context;
use crate::trusted::position::Position;
use ameles_core::store::Untrusted;
use ameles_seal::blob;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_seal::versions::TrustedVersions;
use ameles_store::Blobs;
use std::ops::Range;
use tokio::time::Instant;

/// A checkpoint on its way, with the piece that leaves next.
pub(super) struct Shipment {
    freight: Freight,
    manifest: Manifest,
    /// The first object of the journal in the store that the state does not hold, if there is such a journal.
    from: Option<Position>,
    /// The object that leaves next, sealed.
    next: Object,
    number: u64,
    epoch: u32,
    newest: (u32, u64),
    /// The moment at which the work on that object began.
    began: Instant,
}

/// An object of a shipment, sealed.
enum Object {
    Piece(Vec<u8>),
    Manifest(Vec<u8>),
}

impl<U: VaultStore> Session<U> {
    /// Begins to ship the state of this moment, with nothing in flight: the state that the checkpoint just made holds.
    pub(super) fn prepare_shipment(&mut self, began: Instant) -> Result<(), VaultError> {
        let number = self.checkpoints.number;
        let rows = self.rows.hold()?;
        let Session { engine, identity, checkpoints, .. } = self;
        let (header, epoch) = (&identity.header, identity.epoch);
        engine.scheme.hold_words();
        engine.sealed.hold_versions();
        let head = FreightHead {
            number,
            epoch,
            accesses: engine.accesses(),
            rest: engine.scheme.rest(),
            versions: engine.sealed.with_versions(TrustedVersions::head),
            history: checkpoints.history.clone(),
            stash: 0,
            rows: 0,
        };
        let words = header.parameters.word_tables().iter().sum::<u64>();
        let words = (words, held_words(engine, header, 0..words.min(PIECE_WORDS)));
        let from = self.journal.first_after(header, epoch);
        checkpoints.log_from = from;
        let newest = (head.versions.newest_epoch(), head.versions.counter());
        let directory = &mut checkpoints.ledger.directory;
        let opener = PlaceOpener::new(header, &identity.master, &directory.keys())?;
        let (order, entries) = (directory.order(), directory.entries());
        directory.pin();
        checkpoints.leaves();
        let (disk, parameters) = (self.disk.clone(), header.parameters.clone());
        let load = move || {
            let rows = rows.load()?;
            let parts = FreightParts { head, words, order, entries, opener, rows };
            let freight = Freight::new(parts, disk, &parameters);
            let (manifest, next) = (Manifest::default(), Object::Piece(Vec::new()));
            Ok(Box::new(Shipment { freight, manifest, from, next, number, epoch, newest, began }))
        };
        self.seal_beside(load);
        Ok(())
    }

    /// Has the next piece of a shipment put together and sealed, on a thread of its own.
    fn seal_beside(&mut self, load: impl FnOnce() -> Result<Box<Shipment>, VaultError> + Send + 'static) {
        let (header, master) = (self.identity.header.clone(), self.identity.master.clone());
        let (disk, salt) = (self.disk.clone(), self.entropy.salt());
        let seal = move || {
            let mut shipment = load()?;
            shipment.seal_next(&header, &master, salt)?;
            Ok(shipment)
        };
        self.outbox
            .have_done_beside(Box::pin(async move { Event::Sealed(disk.carry_out(move |_| seal()).await) }));
    }

    /// Sends the next object of a shipment on its way.
    pub(super) async fn send_shipment(&mut self, shipment: Box<Shipment>) -> Result<(), VaultError> {
        if let Object::Manifest(_) = shipment.next {
            let attempt = borsh::to_vec(&shipment.number).expect("memory takes every write");
            self.outbox.on_disk(&self.disk, move |disk| disk.set_meta(SHIPPING, &attempt)).await?;
        }
        let (identity, store) = (self.identity.clone(), self.engine.sealed.clone());
        let (instants, began) = (self.outbox.instants(), shipment.began);
        let errand = Box::pin(async move {
            let store = store.untrusted();
            let Shipment { number, epoch, newest, .. } = *shipment;
            let sealed = match &shipment.next {
                Object::Piece(sealed) => {
                    let name = piece_name(epoch, number, shipment.manifest.pieces.len() as u64 - 1);
                    let sent = put(store, name, sealed).await;
                    return Event::PieceSent(sent.map(|()| shipment));
                }
                Object::Manifest(sealed) => sealed,
            };
            let shipping = async {
                identity.claims(store).check(epoch).await?;
                next_instant(instants).await;
                put(store, blob_name(epoch, number), sealed).await?;
                let is_older = |order: Option<(u32, u64)>| order.is_some_and(|order| order < (epoch, number));
                for (prefix, order) in [("checkpoint/", blob_order as fn(&str) -> _), (PREFIX, piece_order)] {
                    next_instant(instants).await;
                    for older in store.list(prefix).await? {
                        if is_older(order(&older.name)) {
                            next_instant(instants).await;
                            Blobs::remove(store, &older.name).await?;
                        }
                    }
                }
                Ok(Shipped { number, epoch, newest, digest: digest(sealed) })
            };
            Event::Shipped(shipping.await)
        });
        self.outbox.send(Local::Shipment, began, errand);
        Ok(())
    }

    /// Goes on with a shipment of which a piece has reached the store.
    pub(super) fn piece_was_sent(&mut self, mut shipment: Box<Shipment>) {
        shipment.began = Instant::now();
        let words = held_words(&self.engine, &self.identity.header, shipment.freight.wanted());
        shipment.freight.supply(words);
        self.seal_beside(move || Ok(shipment));
    }

    /// Notes that a checkpoint has reached the store.
    pub(super) async fn was_shipped(&mut self, shipped: Shipped) -> Result<(), VaultError> {
        self.checkpoints.has_shipped(shipped);
        self.checkpoints.ledger.directory.unpin();
        let note = borsh::to_vec(&(shipped, &self.checkpoints.history)).expect("memory takes every write");
        let from = self.checkpoints.log_from.take();
        let noting = move |disk: &TrustedDisk| {
            // Before the other: what is deleted follows from this one.
            if let Some(from) = from {
                disk.set_meta(FROM, &borsh::to_vec(&from).expect("memory takes every write"))?;
            }
            disk.set_meta(SHIPPED, &note)
        };
        self.outbox.on_disk(&self.disk, noting).await?;
        self.replaced.add_objects(from);
        let receipt = self.checkpoints.receipt(self.identity.header.vault);
        self.checkpoints.answer(receipt);
        self.collect_garbage();
        Ok(())
    }
}

/// Copies words of the scheme, and of the versions behind them, as they were at the moment of the shipment.
fn held_words<U: VaultStore>(engine: &Engine<U>, header: &VaultHeader, words: Range<u64>) -> Vec<u32> {
    let tables = header.parameters.scheme.words();
    let mut copied = Vec::with_capacity((words.end - words.start) as usize);
    engine.scheme.copy_held_words(words.clone(), &mut copied);
    let versions = words.start.max(tables)..words.end.max(tables);
    if !versions.is_empty() {
        engine.sealed.copy_held_versions(versions.start - tables..versions.end - tables, &mut copied);
    }
    copied
}

/// Creates an object; other bytes under its name are a copy's of this machine.
async fn put<U: Untrusted + Blobs>(store: &U, name: String, sealed: &[u8]) -> Result<(), VaultError> {
    if store.put_if_absent(&name, sealed).await? { Ok(()) } else { Err(VaultError::Copied(name)) }
}

impl Shipment {
    /// Seals the next piece, or the manifest after the last one.
    fn seal_next(&mut self, header: &VaultHeader, master: &MasterKey, salt: Salt) -> Result<(), VaultError> {
        let cipher = header.parameters.cipher()?;
        let seal = |purpose, name: &str, text: &[u8]| {
            blob::seal(master, purpose, &context(header, name), cipher, salt, text)
        };
        self.next = match self.freight.next_piece()? {
            Some(text) => {
                let name = piece_name(self.epoch, self.number, self.manifest.pieces.len() as u64);
                let sealed = seal(Purpose::CHECKPOINT, &name, &text);
                self.manifest.pieces.push(digest(&sealed));
                Object::Piece(sealed)
            }
            None => {
                let text = self.manifest.encode(self.from);
                Object::Manifest(seal(Purpose::MANIFEST, &blob_name(self.epoch, self.number), &text))
            }
        };
        Ok(())
    }
}
