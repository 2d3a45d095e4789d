//! Checkpoints: when one is due on the trusted disk, and which of them are shipped to the store.

mod steps;

use super::command::Reply;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::store::SHIPPED_NOTE;
use crate::trusted::checkpoint::{Receipt, ShippedCheckpoint, truncate_history};
use crate::trusted::checkpoint_bytes::CheckpointBytes;
use crate::trusted::checkpoint_writer::CheckpointWriter;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::sent_state::SentCheckpoint;
use ameles_seal::versions::VaultId;

/// The number of the last checkpoint whose upload has started. It may be in the store even if the sender crashed before
/// it could note that.
pub(crate) const ATTEMPTED_NOTE: &str = "shipping";

/// The state of shipping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shipping {
    /// A restore has not completed: nothing is shipped or deleted until then.
    HeldBack,
    /// No checkpoint is being uploaded.
    Idle,
    /// The checkpoint of this number is being uploaded.
    UnderWay(u64),
}

/// The notes on the trusted disk about the checkpoint in the store.
pub(crate) struct ShippingNotes {
    /// The last checkpoint that is known to be in the store.
    pub(crate) shipped: ShippedCheckpoint,
    history: Vec<(u64, [u8; 32])>,
    /// True if a later upload started and is not known to have ended. Then it is not known which versions the
    /// checkpoint in the store needs.
    pub(crate) is_unclear: bool,
}

impl ShippingNotes {
    /// Reads the notes.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(crate) fn load(disk: &TrustedDisk) -> Result<Self, VaultError> {
        let damaged = |error: std::io::Error| VaultError::Damaged(ErrorReason::of(error));
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

/// The checkpoints of a session.
pub(super) struct Checkpoints {
    /// Builds the next checkpoint from what the trusted disk holds.
    pub(super) writer: CheckpointWriter,
    /// The number of the last checkpoint on the trusted disk.
    pub(super) number: u64,
    /// The accesses in the last checkpoint on the trusted disk.
    accesses: u64,
    /// A lower bound on the accesses in the checkpoint in the store.
    in_store: u64,
    /// The accesses in the checkpoint that is being uploaded.
    uploading: u64,
    /// The accesses by which the last checkpoint was late. The next one is due so much earlier.
    late: u64,
    /// True if a caller or the opening has requested a checkpoint.
    wanted: bool,
    /// True if the next checkpoint is shipped regardless of its number.
    ship_next: bool,
    /// True while it is not known which versions the checkpoint in the store needs: see [`ShippingNotes::is_unclear`].
    is_unclear: bool,
    pub(super) shipping: Shipping,
    pub(super) shipped: ShippedCheckpoint,
    pub(super) history: Vec<(u64, [u8; 32])>,
    /// The callers that wait for a receipt, each with the first checkpoint that holds everything from before its
    /// request.
    receipts: Vec<(u64, Reply<Receipt>)>,
    bytes: CheckpointBytes,
    /// The contents of the checkpoint in the store, and of those before it that it needs.
    pub(super) sent: SentCheckpoint,
}

impl Checkpoints {
    /// Loads the state at the start of an opening: a checkpoint on the trusted disk. The next checkpoint is requested
    /// at once.
    pub(super) fn load(
        (disk, sent): (&TrustedDisk, SentCheckpoint),
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
            // The journal was replayed: a new checkpoint spares the next opening the same replay.
            wanted: true,
            // If it is unclear what the store holds, a newer checkpoint must replace it before anything is deleted.
            is_unclear,
            // An upload that was abandoned at a stop is due.
            ship_next: is_unclear || number - shipped.number.min(number) > ship_every,
            shipping,
            shipped,
            history,
            receipts: Vec::new(),
            bytes: CheckpointBytes::default(),
            sent,
        })
    }

    /// Returns whether a checkpoint is being uploaded.
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self.shipping, Shipping::UnderWay(_))
    }

    /// Sets an upper bound on the accesses that the store lacks when the vault is opened. Each checkpoint on the
    /// trusted disk after the shipped one holds at most `accesses` of them, and so does a journal that was replayed.
    pub(super) fn set_max_unshipped(&mut self, accesses: u64, has_replayed: bool) {
        let behind = self.number.saturating_sub(self.shipped.number) + u64::from(has_replayed);
        self.in_store = self.accesses.saturating_sub(behind * accesses);
    }

    /// An upper bound on the accesses that the checkpoint in the store does not hold.
    pub(super) fn unshipped(&self, accesses: u64) -> u64 {
        accesses - self.in_store
    }

    /// The first checkpoint that needs the versions replaced after it, whether it is on the disk or being uploaded.
    /// `None` if it is unclear what is in the store.
    pub(super) fn needed_from(&self) -> Option<u64> {
        let uploading = match self.shipping {
            Shipping::UnderWay(number) => number,
            Shipping::HeldBack | Shipping::Idle => self.number,
        };
        (!self.is_unclear).then(|| uploading.min(self.number))
    }

    /// Records that the upload of the newest checkpoint has started.
    pub(super) fn on_upload_started(&mut self) {
        self.shipping = Shipping::UnderWay(self.number);
        self.uploading = self.accesses;
    }

    /// Adds a caller that wants the receipt of a checkpoint that holds everything up to now.
    pub(super) fn request(&mut self, reply: Reply<Receipt>) {
        self.wanted = true;
        self.ship_next = true;
        if self.shipping == Shipping::HeldBack {
            self.shipping = Shipping::Idle;
        }
        self.receipts.push((self.number + 1, reply));
    }

    /// Requests a checkpoint that is shipped.
    pub(super) fn request_shipped(&mut self) {
        self.wanted = true;
        self.ship_next = true;
    }

    /// Makes a checkpoint due now that is shipped, as if `every` accesses had come since the last one.
    pub(super) fn make_due(&mut self, accesses: u64, every: u64) {
        self.ship_next = true;
        self.late = self.late.max(every.saturating_sub(self.since(accesses)));
    }

    /// Returns whether the next checkpoint is shipped regardless of its number.
    pub(super) fn ships_next(&self) -> bool {
        self.ship_next
    }

    /// Requests a checkpoint on the trusted disk.
    pub(super) fn request_local(&mut self) {
        self.wanted = true;
    }

    /// The accesses since the last checkpoint on the trusted disk.
    pub(super) fn since(&self, accesses: u64) -> u64 {
        accesses - self.accesses
    }

    /// The accesses since the last checkpoint was due, lateness included.
    pub(super) fn since_due(&self, accesses: u64) -> u64 {
        self.since(accesses) + self.late
    }

    /// Bytes of all checkpoints written to the trusted disk so far.
    pub(super) fn bytes(&self) -> CheckpointBytes {
        self.bytes
    }

    /// The receipt of the last checkpoint in the store.
    pub(super) fn receipt(&self, vault: VaultId) -> Receipt {
        let ShippedCheckpoint { number, epoch, digest, .. } = self.shipped;
        Receipt { vault, epoch, checkpoint: number, digest }
    }

    /// Records that a checkpoint has reached the store.
    pub(super) fn on_shipped(&mut self, shipped: ShippedCheckpoint, sent: SentCheckpoint) {
        (self.shipped, self.sent) = (shipped, sent);
        self.is_unclear = false;
        self.in_store = self.uploading;
        self.shipping = Shipping::Idle;
        // Another checkpoint was waiting for this one.
        self.wanted |= self.ship_next;
        self.history.push((shipped.number, shipped.digest));
        truncate_history(&mut self.history);
    }

    /// The number of the checkpoint that was shipped before the last one; 0 if there was none.
    pub(super) fn shipped_before(&self) -> u64 {
        self.history.iter().rev().nth(1).map_or(0, |(number, _)| *number)
    }

    /// Returns whether a checkpoint was requested, and is not only due by the schedule.
    pub(super) fn is_asked_for(&self) -> bool {
        self.wanted
    }

    /// Answers the callers that waited for this receipt.
    pub(super) fn answer(&mut self, receipt: Receipt) {
        for (_, waiting) in self.receipts.extract_if(.., |(first, _)| *first <= receipt.checkpoint) {
            let _ = waiting.send(Ok(receipt));
        }
    }

    /// Tells all waiting callers why no receipt comes.
    pub(super) fn refuse(&mut self, why: &VaultError) {
        for (_, reply) in self.receipts.drain(..) {
            let _ = reply.send(Err(why.clone()));
        }
    }
}
