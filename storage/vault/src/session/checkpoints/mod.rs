//! Checkpoints: when one is due, on the trusted disk, and every so often in the store.

mod steps;

use super::command::Reply;
use crate::error::VaultError;
use crate::reason::Reason;
use crate::store::SHIPPED_NOTE;
use crate::trusted::checkpoint::{Receipt, ShippedCheckpoint, truncate_history};
use crate::trusted::checkpoint_bytes::CheckpointBytes;
use crate::trusted::checkpoint_writer::CheckpointWriter;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::position::Position;
use ameles_seal::versions::VaultId;

/// The number of the last checkpoint that may have reached the store, whether or not its sender lived to see it.
pub(super) const ATTEMPTED_NOTE: &str = "shipping";

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
pub(crate) struct ShippingNotes {
    /// The last one that is known to be there.
    pub(crate) shipped: ShippedCheckpoint,
    history: Vec<(u64, [u8; 32])>,
    /// True if it is not known what the one there needs: the sender of another has not lived to see it there.
    pub(crate) is_unclear: bool,
}

impl ShippingNotes {
    /// Reads them.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and those of the disk.
    pub(crate) fn load(disk: &TrustedDisk) -> Result<Self, VaultError> {
        let damaged = |error: std::io::Error| VaultError::Damaged(Reason::of(error));
        let (shipped, history): (ShippedCheckpoint, _) = match disk.meta(SHIPPED_NOTE)? {
            Some(bytes) => borsh::from_slice(&bytes).map_err(damaged)?,
            None => (ShippedCheckpoint::default(), Vec::new()),
        };
        let attempted: u64 = match disk.meta(ATTEMPTED_NOTE)? {
            Some(number) => borsh::from_slice(&number).map_err(damaged)?,
            None => 0,
        };
        Ok(ShippingNotes { shipped, history, is_unclear: attempted > shipped.number })
    }
}

/// See the module.
pub(super) struct Checkpoints {
    /// The account of what the trusted disk holds.
    pub(super) writer: CheckpointWriter,
    /// The number of the last checkpoint on the trusted disk.
    pub(super) number: u64,
    /// The accesses that it holds.
    accesses: u64,
    /// The accesses that the one in the store holds, at least.
    in_store: u64,
    /// The accesses that the one on its way to the store holds.
    uploading: u64,
    /// The accesses by which the last one came late: the next one comes so much sooner.
    late: u64,
    /// True if a caller or an opening wants a checkpoint now.
    wanted: bool,
    /// True if the next one goes to the store, whatever its number.
    ship_next: bool,
    /// True while it is not known what the one in the store needs: the sender of another has not lived to see it there.
    is_unclear: bool,
    pub(super) shipping: Shipping,
    pub(super) shipped: ShippedCheckpoint,
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
        writer: CheckpointWriter,
        (number, accesses): (u64, u64),
        (shipping, ship_every): (Shipping, u64),
    ) -> Result<Self, VaultError> {
        let ShippingNotes { shipped, history, is_unclear } = ShippingNotes::load(disk)?;
        Ok(Checkpoints {
            writer,
            number,
            accesses,
            in_store: 0,
            uploading: 0,
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
    pub(super) fn set_max_unshipped(&mut self, accesses: u64, has_replayed: bool) {
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
        let uploading = match self.shipping {
            Shipping::UnderWay(number) => number,
            Shipping::HeldBack | Shipping::Idle => self.number,
        };
        (!self.is_unclear).then(|| uploading.min(self.number))
    }

    /// Notes that the checkpoint just made is on its way to the store.
    pub(super) fn on_upload_started(&mut self) {
        self.shipping = Shipping::UnderWay(self.number);
        self.uploading = self.accesses;
    }

    /// Notes a caller that wants the receipt of a checkpoint that holds everything up to now.
    pub(super) fn request(&mut self, reply: Reply<Receipt>) {
        self.wanted = true;
        self.ship_next = true;
        if self.shipping == Shipping::HeldBack {
            self.shipping = Shipping::Idle;
        }
        self.receipts.push((self.number + 1, reply));
    }

    /// Has a checkpoint made now that goes to the store.
    pub(super) fn request_shipped(&mut self) {
        self.wanted = true;
        self.ship_next = true;
    }

    /// Has a checkpoint made now.
    pub(super) fn request_local(&mut self) {
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
        let ShippedCheckpoint { number, epoch, digest, .. } = self.shipped;
        Receipt { vault, epoch, checkpoint: number, digest }
    }

    /// Notes that a checkpoint has reached the store.
    pub(super) fn on_shipped(&mut self, shipped: ShippedCheckpoint) {
        self.shipped = shipped;
        self.is_unclear = false;
        self.in_store = self.uploading;
        self.shipping = Shipping::Idle;
        // Another had to wait for this one.
        self.wanted |= self.ship_next;
        self.history.push((shipped.number, shipped.digest));
        truncate_history(&mut self.history);
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
