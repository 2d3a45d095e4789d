//! The steps of a session that ship a checkpoint when it is time.

use crate::session::Session;
use crate::session::checkpoints::Shipping;
use crate::session::pace::Instants;
use crate::store::VaultStore;
use tokio::time::Instant;

impl<U: VaultStore> Session<U> {
    /// The time since which the store lacks accesses: that of the first one that it lacks, or earlier. `None` if it
    /// lacks none.
    pub(in crate::session) fn lacking_since(&self) -> Option<Instant> {
        let lacks = self.checkpoints.unshipped(self.engine.accesses()) > 0;
        // The last checkpoint was made at that time. It does not have what came while it was on its way.
        let shipped_at = self.figures.shipped_at;
        let since = self.dispatcher.ship_timer().lacking_since;
        lacks.then(|| shipped_at.map_or(since, |at| at.max(since)))
    }

    /// Records that a batch is about to start.
    pub(in crate::session) fn note_access(&mut self) {
        if self.checkpoints.unshipped(self.engine.accesses()) == 0 {
            self.dispatcher.ship_timer_mut().on_first_access(Instant::now());
        }
    }

    /// The time at which a checkpoint must be shipped. Under a pace it is an instant. `None` if the store lacks no
    /// access, and while a checkpoint is due or on its way.
    pub(in crate::session) fn next_shipment(&self) -> Option<Instant> {
        let is_needed = !self.identity.header.parameters.journal.is_in_store()
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

    /// Makes a checkpoint due that is shipped, if it is time. Batches continue while it waits for evictions, as with
    /// any that is due.
    pub(in crate::session) fn ship_if_due(&mut self) {
        if self.next_shipment().is_some_and(|due| due <= Instant::now()) {
            let every = self.identity.header.parameters.checkpoint_every;
            self.checkpoints.make_due(self.engine.accesses(), every);
        }
    }
}
