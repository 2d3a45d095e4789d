//! Checkpoints: when one is due, on the trusted disk, and every so often in the store.

use super::Session;
use super::command::Reply;
use crate::engine::scheme::Seed;
use crate::error::VaultError;
use crate::reason::Reason;
use crate::session::pace::Local;
use crate::store::{SHIPPED, VaultStore};
use crate::trusted::checkpoint::{Receipt, Shipped, shorten};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::ledger::{Facts, Ledger, Moment, SealWith, StateChange};
use crate::trusted::position::Position;
use crate::trusted::written::CheckpointBytes;
use ameles_seal::versions::VaultId;
use tokio::time::Instant;

/// The number of the last checkpoint that may have reached the store, whether or not its sender lived to see it.
pub(super) const SHIPPING: &str = "shipping";

/// The state of shipping: a checkpoint may go to the store, or may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shipping {
    /// A restore holds shipping and deleting back until it is complete.
    HeldBack,
    /// No checkpoint is on its way.
    Idle,
    /// The checkpoint of this number is on its way.
    UnderWay(u64),
}

/// The trusted disk's notes of the checkpoint in the store.
pub(crate) struct Noted {
    /// The last one that is known to be there.
    pub(crate) shipped: Shipped,
    history: Vec<(u64, [u8; 32])>,
    /// True if it is not known what the one there needs: the sender of another has not lived to see it there.
    pub(crate) is_unclear: bool,
}

impl Noted {
    /// Reads them.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and those of the disk.
    pub(crate) fn load(disk: &TrustedDisk) -> Result<Self, VaultError> {
        let damaged = |error: std::io::Error| VaultError::Damaged(Reason::of(error));
        let (shipped, history): (Shipped, _) = match disk.meta(SHIPPED)? {
            Some(bytes) => borsh::from_slice(&bytes).map_err(damaged)?,
            None => (Shipped::default(), Vec::new()),
        };
        let attempted: u64 = match disk.meta(SHIPPING)? {
            Some(number) => borsh::from_slice(&number).map_err(damaged)?,
            None => 0,
        };
        Ok(Noted { shipped, history, is_unclear: attempted > shipped.number })
    }
}

/// See the module.
pub(super) struct Checkpoints {
    /// The account of what the trusted disk holds.
    pub(super) ledger: Ledger,
    /// The number of the last checkpoint on the trusted disk.
    pub(super) number: u64,
    /// The accesses that it holds.
    accesses: u64,
    /// The accesses that the one in the store holds, at least.
    in_store: u64,
    /// The accesses that the one on its way to the store holds.
    leaving: u64,
    /// The accesses by which the last one came late: the next one comes so much sooner.
    late: u64,
    /// True if a caller or an opening wants a checkpoint now.
    wanted: bool,
    /// True if the next one goes to the store, whatever its number.
    ship_next: bool,
    /// True while it is not known what the one in the store needs: the sender of another has not lived to see it there.
    is_unclear: bool,
    pub(super) shipping: Shipping,
    pub(super) shipped: Shipped,
    pub(super) history: Vec<(u64, [u8; 32])>,
    /// The callers that wait for a receipt, and the first checkpoint that holds what was there when they asked.
    receipts: Vec<(u64, Reply<Receipt>)>,
    bytes: CheckpointBytes,
    /// The first object of the journal in the store that the one on its way does not hold.
    pub(super) log_from: Option<Position>,
}

impl Checkpoints {
    /// Loads the state at which an opening begins: a checkpoint of the trusted disk, with the one that follows wanted.
    pub(super) fn load(
        disk: &TrustedDisk,
        ledger: Ledger,
        (number, accesses): (u64, u64),
        (shipping, ship_every): (Shipping, u64),
    ) -> Result<Self, VaultError> {
        let Noted { shipped, history, is_unclear } = Noted::load(disk)?;
        Ok(Checkpoints {
            ledger,
            number,
            accesses,
            in_store: 0,
            leaving: 0,
            late: 0,
            // The journal has been used: a new checkpoint spares the next opening the same replay.
            wanted: true,
            // A newer one must take the place of one that is unclear before anything is deleted.
            is_unclear,
            // One that was given up at a stop is due.
            ship_next: is_unclear || number - shipped.number.min(number) > ship_every,
            shipping,
            shipped,
            history,
            receipts: Vec::new(),
            bytes: CheckpointBytes::default(),
            log_from: None,
        })
    }

    /// Tells whether a checkpoint is on its way to the store.
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self.shipping, Shipping::UnderWay(_))
    }

    /// Notes what the store lacks at an opening, at most: checkpoints of the trusted disk that came after its own, of so many
    /// accesses each, and the records of a journal that was replayed.
    pub(super) fn lacks_at_most(&mut self, accesses: u64, has_replayed: bool) {
        let behind = self.number.saturating_sub(self.shipped.number) + u64::from(has_replayed);
        self.in_store = self.accesses.saturating_sub(behind * accesses);
    }

    /// The accesses that the checkpoint in the store does not hold, at most.
    pub(super) fn unshipped(&self, accesses: u64) -> u64 {
        accesses - self.in_store
    }

    /// The first checkpoint that needs what was replaced after it, on the disk or on its way to the store; none is known if
    /// it is unclear what is in the store.
    pub(super) fn needed_from(&self) -> Option<u64> {
        let leaving = match self.shipping {
            Shipping::UnderWay(number) => number,
            Shipping::HeldBack | Shipping::Idle => self.number,
        };
        (!self.is_unclear).then(|| leaving.min(self.number))
    }

    /// Notes that the checkpoint just made is on its way to the store.
    pub(super) fn leaves(&mut self) {
        self.shipping = Shipping::UnderWay(self.number);
        self.leaving = self.accesses;
    }

    /// Notes a caller that wants the receipt of a checkpoint that holds everything up to now.
    pub(super) fn want(&mut self, reply: Reply<Receipt>) {
        self.wanted = true;
        self.ship_next = true;
        if self.shipping == Shipping::HeldBack {
            self.shipping = Shipping::Idle;
        }
        self.receipts.push((self.number + 1, reply));
    }

    /// Has a checkpoint made now that goes to the store.
    pub(super) fn want_in_store(&mut self) {
        self.wanted = true;
        self.ship_next = true;
    }

    /// Has a checkpoint made now.
    pub(super) fn want_on_disk(&mut self) {
        self.wanted = true;
    }

    /// The accesses since the last one.
    pub(super) fn since(&self, accesses: u64) -> u64 {
        accesses - self.accesses
    }

    /// The accesses of a schedule that takes up what came late.
    pub(super) fn since_due(&self, accesses: u64) -> u64 {
        self.since(accesses) + self.late
    }

    /// Bytes sealed for the trusted disk so far.
    pub(super) fn bytes(&self) -> CheckpointBytes {
        self.bytes
    }

    /// The receipt of the last one in the store.
    pub(super) fn receipt(&self, vault: VaultId) -> Receipt {
        let Shipped { number, epoch, digest, .. } = self.shipped;
        Receipt { vault, epoch, checkpoint: number, digest }
    }

    /// Notes that a checkpoint has reached the store.
    pub(super) fn has_shipped(&mut self, shipped: Shipped) {
        self.shipped = shipped;
        self.is_unclear = false;
        self.in_store = self.leaving;
        self.shipping = Shipping::Idle;
        // Another had to wait for this one.
        self.wanted |= self.ship_next;
        self.history.push((shipped.number, shipped.digest));
        shorten(&mut self.history);
    }

    /// Tells whether a checkpoint was asked for, and not only comes in its turn.
    pub(super) fn is_asked_for(&self) -> bool {
        self.wanted
    }

    /// Answers the callers that waited for this receipt.
    pub(super) fn answer(&mut self, receipt: Receipt) {
        for (_, waiting) in self.receipts.extract_if(.., |(first, _)| *first <= receipt.checkpoint) {
            let _ = waiting.send(Ok(receipt));
        }
    }

    /// Tells all callers that wait why no receipt comes.
    pub(super) fn refuse(&mut self, why: &VaultError) {
        for (_, reply) in self.receipts.drain(..) {
            let _ = reply.send(Err(why.clone()));
        }
    }
}

impl<U: VaultStore> Session<U> {
    pub(super) fn is_checkpoint_due(&self) -> bool {
        let every = self.identity.header.parameters.checkpoint_every;
        // One that is to be in the store waits for another that is on its way there.
        let can_be_last = if self.checkpoints.is_under_way() {
            !self.identity.header.parameters.ships_at_stop() && !self.holds_everything()
        } else {
            !self.has_settled()
        };
        let last = self.is_ending() && can_be_last;
        self.checkpoints.wanted || last || self.checkpoints.since_due(self.engine.accesses()) >= every
    }

    /// Tells whether the last checkpoint holds everything, and is in the store where it is to be at a stop.
    pub(super) fn has_settled(&self) -> bool {
        let Checkpoints { number, shipping, shipped, receipts, .. } = &self.checkpoints;
        let needs_none = *shipping == Shipping::HeldBack || !self.identity.header.parameters.ships_at_stop();
        self.holds_everything() && (shipped.number == *number || (needs_none && receipts.is_empty()))
    }

    /// Tells whether the last word was said: the last checkpoint holds everything, and is in the store or on its way.
    pub(super) fn is_over(&self) -> bool {
        let is_leaving = self.checkpoints.shipping == Shipping::UnderWay(self.checkpoints.number);
        self.is_ending() && (self.has_settled() || (self.holds_everything() && is_leaving))
    }

    fn holds_everything(&self) -> bool {
        let Checkpoints { number, .. } = &self.checkpoints;
        let is_last = self.closing.as_ref().is_none_or(|(before, _)| number > before);
        is_last && self.checkpoints.since(self.engine.accesses()) == 0
    }

    /// Writes the trusted state down; nothing is in flight. Every so often it is shipped as well.
    pub(super) async fn checkpoint(&mut self) -> Result<(), VaultError> {
        let began = Instant::now();
        self.engine.sealed.drop_unused_epochs();
        let seed = self.entropy.seed();
        self.engine.scheme.reseed(seed);
        self.engine.renumber();
        self.checkpoints.number += 1;
        let mut change = self.write_down(seed)?;
        self.engine.check_keeper()?;
        let parameters = &self.identity.header.parameters;
        let (block, every) = (parameters.block(), parameters.checkpoint_every);
        if self.outbox.pacer().is_some() {
            self.checkpoints.ledger.fill_up(&mut change, 2 * parameters.checkpoint_every as usize, block);
        }
        self.checkpoints.bytes += change.bytes();
        self.outbox.on_disk(&self.disk, move |disk| disk.commit_state(block, &change)).await?;
        self.checkpoints.ledger.directory.committed();
        self.engine.scheme.release_payloads();
        self.journal.forget();
        let late = self.checkpoints.since_due(self.engine.accesses()).saturating_sub(every);
        self.checkpoints.late = if self.checkpoints.wanted { 0 } else { late };
        self.checkpoints.accesses = self.engine.accesses();
        self.checkpoints.wanted = false;
        if self.is_to_be_shipped() {
            self.prepare_shipment(began)?;
        }
        self.outbox.skip(Local::Checkpoint, began);
        self.collect_garbage();
        let Checkpoints { number, accesses, .. } = self.checkpoints;
        tracing::debug!(checkpoint = number, accesses, "checkpoint");
        Ok(())
    }

    /// Puts together what the checkpoint changes on the trusted disk.
    fn write_down(&mut self, seed: Seed) -> Result<StateChange, VaultError> {
        let Session { engine, checkpoints, identity, entropy, .. } = self;
        let facts = Facts {
            number: checkpoints.number,
            sequence: self.journal.sequence(),
            accesses: engine.accesses(),
            since: checkpoints.since(engine.accesses()),
            seed,
            rewritten: engine.take_rewritten(),
            garbage: self.replaced.garbage(),
        };
        let seal = SealWith { header: &identity.header, master: &identity.master, entropy };
        engine.sealed.with_versions(|versions| {
            checkpoints.ledger.write_down(&Moment { scheme: &*engine.scheme, versions }, facts, seal)
        })
    }

    /// Tells whether the checkpoint just made goes to the store. While another is on its way none does: it comes after
    /// that one.
    fn is_to_be_shipped(&mut self) -> bool {
        let parameters = &self.identity.header.parameters;
        let checkpoints = &mut self.checkpoints;
        let turn = checkpoints.number.is_multiple_of(parameters.ship_every);
        let is_last = self.closing.is_some() && parameters.ships_at_stop();
        let is_wanted = checkpoints.ship_next || is_last || (turn && self.beginning.is_asked());
        match checkpoints.shipping {
            Shipping::HeldBack => false,
            Shipping::UnderWay(_) => {
                checkpoints.ship_next = is_wanted || turn;
                false
            }
            Shipping::Idle => {
                let ships = is_wanted || checkpoints.shipped.number == 0;
                // A turn that comes before any caller has asked for anything is the next checkpoint's.
                checkpoints.ship_next = turn && !ships;
                ships
            }
        }
    }
}
