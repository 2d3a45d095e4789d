//! The renewal of the lease. At certain times the session checks the store for a newer claim, and renews the lease if
//! there is none. These times follow only from the clock and from the answers to earlier checks. In a vault with
//! heartbeats a check renews nothing: there the [creation of a log object](crate::lease) does.
//!
//! A check is due [`LEASE_CHECK_EVERY`] after the last one was due, or when the last one is answered, whichever is
//! later. Under a pace it is due at the next instant after that. It leaves before any other request of that instant. So
//! its time depends neither on what callers ask nor on how long the disk works.

use super::event::Event;
use super::event::Task;
use super::identity::Identity;
use super::pace::Instants;
use crate::lease::{LEASE_CHECK_EVERY, Lease, LeaseTerm};
use crate::store::VaultStore;
use ameles_seal::sealed::Sealed;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tokio::time::Instant;

/// Checks for a newer claim, and renews the lease.
pub(super) struct LeaseRenewer {
    start_check: Box<dyn Fn() -> Task>,
    /// The time of the next check; `None` while a check is running.
    due: Option<Instant>,
    /// The time at which the last check was due. A check may leave a little later, because the thread is busy; this
    /// does not delay the next one.
    last: Instant,
    under_way: Option<Task>,
    instants: Option<Instants>,
}

impl LeaseRenewer {
    /// A renewer whose first check is due as if the claim had been a check, but not before `first`.
    pub(super) fn new<U: VaultStore>(
        sealed: Rc<Sealed<U>>,
        identity: Rc<Identity>,
        lease_term: &LeaseTerm,
        first: Instant,
        instants: Option<Instants>,
    ) -> Self {
        let (lease, began) = (lease_term.lease.clone(), lease_term.began);
        let start_check = move || renew_lease(sealed.clone(), identity.clone(), lease.clone());
        let mut renewer = LeaseRenewer {
            start_check: Box::new(start_check),
            due: None,
            last: began,
            under_way: None,
            instants,
        };
        renewer.schedule(first);
        renewer
    }

    /// The time at which the next check leaves.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sends the check that is due, if one is, with its first poll.
    pub(super) fn send_due(&mut self, now: Instant) {
        let Some(due) = self.due.take_if(|due| *due <= now) else { return };
        self.last = due;
        let mut renewal = (self.start_check)();
        self.under_way = Some(match renewal.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) => Box::pin(std::future::ready(event)),
            Poll::Pending => renewal,
        });
    }

    /// Waits for the running check; forever if none is running. Then schedules the next one.
    pub(super) async fn wait_renewal(&mut self) -> Event {
        let Some(renewal) = &mut self.under_way else { return std::future::pending().await };
        let event = renewal.await;
        self.under_way = None;
        self.schedule(Instant::now());
        event
    }

    fn schedule(&mut self, earliest: Instant) {
        let due = (self.last + LEASE_CHECK_EVERY).max(earliest);
        self.due = Some(self.instants.map_or(due, |instants| instants.after(due, 1)));
    }
}

/// Checks for a newer claim. Renews the lease as soon as the answer comes, even if other work is running, unless the vault
/// has heartbeats.
fn renew_lease<U: VaultStore>(sealed: Rc<Sealed<U>>, identity: Rc<Identity>, lease: Lease) -> Task {
    Box::pin(async move {
        let since = lease.now();
        let result = identity.claims(sealed.untrusted()).check_next_epoch(identity.epoch).await;
        if result.is_ok() && !identity.header.parameters.journal.has_heartbeats() {
            lease.renew(since);
        }
        Event::LeaseChecked(result)
    })
}
