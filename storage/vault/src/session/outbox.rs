//! The way to the store and back: requests leave at once, or at the pace's instants.

use super::command::Reply;
use super::lookout::Lookout;
use super::shipment::Shipment;
use crate::engine::gate::OperationId;
use crate::error::VaultError;
use crate::session::check::Report;
use crate::session::pace::{Instants, Local, Pacer};
use crate::trusted::checkpoint::Shipped;
use crate::trusted::disk::TrustedDisk;
use ameles_seal::error::SealError;
use futures::future::LocalBoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use tokio::time::Instant;

/// The end of a piece of work in the outside world.
pub(super) enum Event {
    Operation(OperationId, Result<Vec<u8>, SealError>),
    Sealed(Result<Box<Shipment>, VaultError>),
    PieceSent(Result<Box<Shipment>, VaultError>),
    Shipped(Result<Shipped, VaultError>),
    Deleted(Result<(), VaultError>),
    Checked(Result<Report, VaultError>, Reply<Report>),
    Looked(Result<(), VaultError>),
    Logged(Result<(), VaultError>),
    KeyChanged(Result<(), VaultError>),
}

/// A request that ends in an event.
pub(super) type Errand = LocalBoxFuture<'static, Event>;

/// See the module.
pub(super) struct Outbox {
    pacer: Option<Pacer>,
    /// The requests that leave at a later moment, in the order in which they do.
    held: VecDeque<(Instant, Errand)>,
    /// The events that happened while the disk was at work.
    arrived: VecDeque<Event>,
    in_flight: FuturesUnordered<Errand>,
    /// Work on this machine that takes a while, and keeps no request waiting.
    beside: Option<Errand>,
    /// Looks for a newer claim. They keep no end waiting.
    lookout: Lookout,
}

impl Outbox {
    pub(super) fn new(pacer: Option<Pacer>, lookout: Lookout) -> Self {
        let (held, arrived) = (VecDeque::new(), VecDeque::new());
        Outbox { pacer, held, arrived, in_flight: FuturesUnordered::new(), beside: None, lookout }
    }

    /// The pace, if the vault has one.
    pub(super) fn pacer(&self) -> Option<&Pacer> {
        self.pacer.as_ref()
    }

    /// The pace, if the vault has one.
    pub(super) fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        self.pacer.as_mut()
    }

    /// The instants at which requests leave, under a pace.
    pub(super) fn instants(&self) -> Option<Instants> {
        self.pacer.as_ref().map(Pacer::instants)
    }

    /// Tells whether nothing is on its way.
    pub(super) fn is_empty(&self) -> bool {
        let is_still = self.in_flight.is_empty() && self.beside.is_none();
        is_still && self.held.is_empty() && self.arrived.is_empty()
    }

    /// The moment at which something is to be done that no caller asks for.
    pub(super) fn wakes(&self) -> Option<Instant> {
        let leaves = self.next_departure();
        self.pacer.as_ref().map_or(leaves, |pacer| pacer.wakes(Instant::now(), leaves))
    }

    fn next_departure(&self) -> Option<Instant> {
        let held = self.held.front().map(|(at, _)| *at);
        [self.lookout.due(), held].into_iter().flatten().min()
    }

    /// The next event; waits forever if nothing is on its way.
    pub(super) async fn next(&mut self) -> Event {
        if let Some(event) = self.arrived.pop_front() {
            return event;
        }
        tokio::select! {
            biased;
            Some(event) = self.in_flight.next(), if !self.in_flight.is_empty() => event,
            event = self.lookout.looked() => event,
            event = done_beside(&mut self.beside) => event,
        }
    }

    /// Has work done on this machine beside everything else: one piece at a time.
    pub(super) fn have_done_beside(&mut self, work: Errand) {
        assert!(self.beside.is_none(), "one piece of work at a time");
        self.beside = Some(work);
    }

    /// Waits until nothing is done beside any more: a thread of its own would hold the disk.
    pub(super) async fn end_beside(&mut self) {
        if self.beside.is_some() {
            drop(done_beside(&mut self.beside).await);
        }
    }

    /// Lets go of the requests that leave now.
    pub(super) fn let_go(&mut self) {
        let now = Instant::now();
        self.lookout.let_go(now);
        while let Some((_, errand)) = self.held.pop_front_if(|(at, _)| *at <= now) {
            self.set_out(errand);
        }
    }

    /// Sends a request out with its first poll: now and in its order, not when this thread has nothing better to do.
    fn set_out(&mut self, mut errand: Errand) {
        match errand.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) => self.arrived.push_back(event),
            Poll::Pending => self.in_flight.push(errand),
        }
    }

    /// Sends a request that follows from work which began at `began`: at once, or at the pace's next instant.
    pub(super) fn send(&mut self, local: Local, began: Instant, errand: Errand) {
        match &mut self.pacer {
            Some(pacer) => {
                let at = pacer.leaves(local, began, Instant::now());
                // A shipment that has much time lets steps that begin later leave before it.
                let place = self.held.partition_point(|(other, _)| *other <= at);
                self.held.insert(place, (at, errand));
            }
            None => self.set_out(errand),
        }
    }

    /// Takes a request that does not touch the store as a step does, and so needs no instant of the pace.
    pub(super) fn take_along(&mut self, errand: Errand) {
        self.in_flight.push(errand);
    }

    /// Lets the instant of a request pass that no caller has to send.
    pub(super) fn skip(&mut self, local: Local, began: Instant) {
        if let Some(pacer) = &mut self.pacer {
            pacer.leaves(local, began, Instant::now());
        }
    }

    /// Has the disk do something. Meanwhile requests on their way go on, and requests that are due leave.
    pub(super) async fn on_disk<T: Send + 'static>(
        &mut self,
        disk: &TrustedDisk,
        work: impl FnOnce(&TrustedDisk) -> Result<T, VaultError> + Send + 'static,
    ) -> Result<T, VaultError> {
        let mut working = std::pin::pin!(disk.carry_out(work));
        loop {
            let leaves = self.next_departure();
            tokio::select! {
                biased;
                done = &mut working => return done,
                Some(event) = self.in_flight.next(), if !self.in_flight.is_empty() => self.arrived.push_back(event),
                event = self.lookout.looked() => self.arrived.push_back(event),
                () = sleep_until(leaves), if leaves.is_some() => self.let_go(),
            }
        }
    }
}

/// Waits for the end of the work, or forever if there is none.
async fn done_beside(work: &mut Option<Errand>) -> Event {
    let Some(working) = work else { return std::future::pending().await };
    let event = working.await;
    *work = None;
    event
}

/// Waits for that moment, or forever.
pub(super) async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
