//! The time of the next checkpoint in the store. With the journal on the trusted disk, a lost machine takes along what
//! came after the last one. So another one is shipped when the store has lacked accesses for a given time.
//!
//! Only times and numbers of accesses count, which the store sees anyway. An idle vault ships its last accesses once.

use super::Session;
use super::checkpoints::Shipping;
use super::pace::Instants;
use crate::store::VaultStore;
use crate::trusted::header::JournalPlace;
use std::time::Duration;
use tokio::time::Instant;

/// The time for which the store lacks accesses at most, until a checkpoint with them is made, unless a [`Setup`] has
/// another.
///
/// [`Setup`]: crate::open::setup::Setup
pub const SHIP_AFTER: Duration = Duration::from_secs(5 * 60);

/// Tells when a checkpoint must be shipped.
pub(super) struct ShipTimer {
    after: Duration,
    /// The time of the first access after one at which the store lacked none; or of the opening.
    lacking_since: Instant,
}

impl ShipTimer {
    pub(super) fn new(after: Duration, opened: Instant) -> Self {
        ShipTimer { after, lacking_since: opened }
    }

    /// Records an access, before which the store lacked none.
    pub(super) fn on_first_access(&mut self, now: Instant) {
        self.lacking_since = now;
    }
}

impl<U: VaultStore> Session<U> {
    /// The time since which the store lacks accesses: that of the first one that it lacks, or earlier. `None` if it
    /// lacks none.
    pub(super) fn lacking_since(&self) -> Option<Instant> {
        let lacks = self.checkpoints.unshipped(self.engine.accesses()) > 0;
        // The last checkpoint was made at that time. It does not have what came while it was on its way.
        let shipped_at = self.figures.shipped_at;
        let since = self.dispatcher.ship_timer().lacking_since;
        lacks.then(|| shipped_at.map_or(since, |at| at.max(since)))
    }

    /// Records that a batch is about to start.
    pub(super) fn note_access(&mut self) {
        if self.checkpoints.unshipped(self.engine.accesses()) == 0 {
            self.dispatcher.ship_timer_mut().on_first_access(Instant::now());
        }
    }

    /// The time at which a checkpoint must be shipped. Under a pace it is an instant. `None` if the store lacks no
    /// access, and while a checkpoint is due or on its way.
    pub(super) fn next_shipment(&self) -> Option<Instant> {
        let is_needed = self.identity.header.parameters.journal == JournalPlace::Disk
            && self.closing.is_none()
            // Before a caller has made a request, the store sees no more than the opening.
            && self.startup.has_request()
            && self.checkpoints.shipping == Shipping::Idle
            // A gateway that may have been displaced ships nothing by itself.
            && self.lease.is_valid()
            && !(self.checkpoints.ships_next() && self.is_checkpoint_due());
        let due =
            self.lacking_since().filter(|_| is_needed)?.checked_add(self.dispatcher.ship_timer().after)?;
        Some(self.dispatcher.instants().map_or(due, |instants: Instants| instants.after(due, 1)))
    }

    /// Makes a checkpoint due that is shipped, if it is time. Batches go on while it waits for evictions, as with any
    /// that is due.
    pub(super) fn ship_if_due(&mut self) {
        if self.next_shipment().is_some_and(|due| due <= Instant::now()) {
            let every = self.identity.header.parameters.checkpoint_every;
            self.checkpoints.make_due(self.engine.accesses(), every);
        }
    }
}
