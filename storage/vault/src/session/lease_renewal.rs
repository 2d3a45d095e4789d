//! Looks for a newer claim, which renew the lease, at times that follow from nothing but the clock and earlier looks'
//! answers.
//!
//! A look is due [`LEASE_CHECK_EVERY`] after the last one was, or when that is answered, whichever is later; under a pace, at
//! the next instant. It goes out before whatever else leaves at that instant. So its time depends on nothing that is
//! asked, and on nothing that the disk does meanwhile.

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

/// See the module.
pub(super) struct LeaseRenewer {
    start_check: Box<dyn Fn() -> Task>,
    /// The moment of the next look; `None` while one is under way.
    due: Option<Instant>,
    /// The moment at which the last one was due. That it left a little later, for this thread was busy, delays no other.
    last: Instant,
    under_way: Option<Task>,
    instants: Option<Instants>,
}

impl LeaseRenewer {
    /// Looks from now on: the first look is due as if the claim had been one, but not before `first`.
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

    /// The moment at which the next look leaves.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sends the look that is due, if one is, with its first poll.
    pub(super) fn send_due(&mut self, now: Instant) {
        let Some(due) = self.due.take_if(|due| *due <= now) else { return };
        self.last = due;
        let mut renewal = (self.start_check)();
        self.under_way = Some(match renewal.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) => Box::pin(std::future::ready(event)),
            Poll::Pending => renewal,
        });
    }

    /// Waits for the look under way; forever if there is none. The next one is due as soon as this one is answered.
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

/// A look: the lease is renewed at once when its answer comes, whatever else is being done.
fn renew_lease<U: VaultStore>(sealed: Rc<Sealed<U>>, identity: Rc<Identity>, lease: Lease) -> Task {
    Box::pin(async move {
        let since = lease.now();
        let result = identity.claims(sealed.untrusted()).check_next_epoch(identity.epoch).await;
        if result.is_ok() {
            lease.renew(since);
        }
        Event::LeaseChecked(result)
    })
}
