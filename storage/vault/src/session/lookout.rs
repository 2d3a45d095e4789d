//! Looks for a newer claim, which renew the lease, at times that follow from nothing but the clock and earlier looks'
//! answers.
//!
//! A look is due [`LOOK_EVERY`] after the last one was, or when that is answered, whichever is later; under a pace, at
//! the next instant. It goes out before whatever else leaves at that instant. So its time depends on nothing that is
//! asked, and on nothing that the disk does meanwhile.

use super::outbox::Errand;
use super::pace::Instants;
use super::{Identity, Session, outbox::Event};
use crate::error::VaultError;
use crate::lease::{LOOK_EVERY, Lease, Tenure};
use crate::store::VaultStore;
use ameles_seal::sealed::Sealed;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tokio::time::Instant;

/// See the module.
pub(super) struct Lookout {
    make: Box<dyn Fn() -> Errand>,
    /// The moment of the next look; `None` while one is under way.
    due: Option<Instant>,
    /// The moment at which the last one was due. That it left a little later, for this thread was busy, delays no other.
    last: Instant,
    under_way: Option<Errand>,
    instants: Option<Instants>,
}

impl<U: VaultStore> Session<U> {
    /// Goes on after a look, also if the store could not be reached: then nothing is answered until it can be.
    pub(super) fn has_looked(&self, looked: Result<(), VaultError>) -> Result<(), VaultError> {
        match looked {
            Err(error @ VaultError::Unavailable(_)) if self.closing.is_none() => {
                let answers = self.lease.is_valid();
                tracing::warn!(%error, answers, "no look whether another gateway has taken the vault over");
                Ok(())
            }
            looked => looked,
        }
    }
}

impl Lookout {
    /// Looks from now on: the first look is due as if the claim had been one, but not before `first`.
    pub(super) fn over<U: VaultStore>(
        sealed: Rc<Sealed<U>>,
        identity: Rc<Identity>,
        tenure: &Tenure,
        first: Instant,
        instants: Option<Instants>,
    ) -> Self {
        let (lease, began) = (tenure.lease.clone(), tenure.began);
        let make = move || look(sealed.clone(), identity.clone(), lease.clone());
        let mut lookout = Lookout { make: Box::new(make), due: None, last: began, under_way: None, instants };
        lookout.schedule(first);
        lookout
    }

    /// The moment at which the next look leaves.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sends the look that is due, if one is, with its first poll.
    pub(super) fn let_go(&mut self, now: Instant) {
        let Some(due) = self.due.take_if(|due| *due <= now) else { return };
        self.last = due;
        let mut look = (self.make)();
        self.under_way = Some(match look.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) => Box::pin(std::future::ready(event)),
            Poll::Pending => look,
        });
    }

    /// Waits for the look under way; forever if there is none. The next one is due as soon as this one is answered.
    pub(super) async fn looked(&mut self) -> Event {
        let Some(look) = &mut self.under_way else { return std::future::pending().await };
        let event = look.await;
        self.under_way = None;
        self.schedule(Instant::now());
        event
    }

    fn schedule(&mut self, earliest: Instant) {
        let due = (self.last + LOOK_EVERY).max(earliest);
        self.due = Some(self.instants.map_or(due, |instants| instants.after(due, 1)));
    }
}

/// A look: the lease is renewed at once when its answer comes, whatever else is being done.
fn look<U: VaultStore>(sealed: Rc<Sealed<U>>, identity: Rc<Identity>, lease: Lease) -> Errand {
    Box::pin(async move {
        let since = lease.now();
        let looked = identity.claims(sealed.untrusted()).look(identity.epoch).await;
        if looked.is_ok() {
            lease.renew(since);
        }
        Event::Looked(looked)
    })
}
