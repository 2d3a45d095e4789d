//! The dispatcher of requests to the store. Requests leave at once, or under a pace at the next instant. It collects
//! their answers as events, and the ends of appends to the journal.

use super::event::{Event, Task};
use super::lease_renewal::LeaseRenewer;
use super::ship_timer::ShipTimer;
use crate::error::VaultError;
use crate::session::pace::{Instants, LocalWork, Pacer};
use crate::trusted::disk::TrustedDisk;
use futures::stream::{FuturesOrdered, FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use tokio::time::Instant;

/// Sends requests to the store, and collects their events.
pub(super) struct Dispatcher {
    pacer: Option<Pacer>,
    /// The requests that leave later, in the order of their departures.
    held: VecDeque<(Instant, Task)>,
    /// The events that arrived while the disk was working.
    pending_events: VecDeque<Event>,
    in_flight: FuturesUnordered<Task>,
    /// The appends to the journal, which end in their order.
    appends: FuturesOrdered<Task>,
    /// Long work on this machine, which delays no request.
    background: Option<Task>,
    /// Checks for a newer claim, and renews the lease. The end of a session does not wait for a check.
    lease_renewer: LeaseRenewer,
    ship_timer: ShipTimer,
}

impl Dispatcher {
    pub(super) fn new(pacer: Option<Pacer>, lease_renewer: LeaseRenewer, ship_timer: ShipTimer) -> Self {
        let (held, pending_events) = (VecDeque::new(), VecDeque::new());
        Dispatcher {
            pacer,
            held,
            pending_events,
            in_flight: FuturesUnordered::new(),
            appends: FuturesOrdered::new(),
            background: None,
            lease_renewer,
            ship_timer,
        }
    }

    /// Tells when a checkpoint must be shipped.
    pub(super) fn ship_timer(&self) -> &ShipTimer {
        &self.ship_timer
    }

    /// Tells when a checkpoint must be shipped.
    pub(super) fn ship_timer_mut(&mut self) -> &mut ShipTimer {
        &mut self.ship_timer
    }

    /// The pace, if the vault has one.
    pub(super) fn pacer(&self) -> Option<&Pacer> {
        self.pacer.as_ref()
    }

    /// The pace, if the vault has one.
    pub(super) fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        self.pacer.as_mut()
    }

    /// The instants at which requests leave, if there is a pace.
    pub(super) fn instants(&self) -> Option<Instants> {
        self.pacer.as_ref().map(Pacer::instants)
    }

    /// Returns whether no request is waiting or in flight, and no event is pending.
    pub(super) fn is_empty(&self) -> bool {
        let is_still = self.in_flight.is_empty() && self.appends.is_empty() && self.background.is_none();
        is_still && self.held.is_empty() && self.pending_events.is_empty()
    }

    /// The next instant at which the session must act without being asked.
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        let leaves = self.next_departure();
        self.pacer.as_ref().map_or(leaves, |pacer| pacer.next_wakeup(Instant::now(), leaves))
    }

    fn next_departure(&self) -> Option<Instant> {
        let held = self.held.front().map(|(at, _)| *at);
        [self.lease_renewer.due(), held].into_iter().flatten().min()
    }

    /// The next event. Waits forever if nothing is in flight.
    pub(super) async fn next(&mut self) -> Event {
        tokio::select! {
            biased;
            // Requests that wait for a record leave before anything else is done.
            Some(event) = self.appends.next(), if !self.appends.is_empty() => event,
            event = pop(&mut self.pending_events), if !self.pending_events.is_empty() => event,
            Some(event) = self.in_flight.next(), if !self.in_flight.is_empty() => event,
            event = self.lease_renewer.wait_renewal() => event,
            event = background_done(&mut self.background) => event,
        }
    }

    /// Runs work on this machine in parallel with everything else. Only one piece of work runs at a time.
    pub(super) fn spawn_background(&mut self, work: Task) {
        assert!(self.background.is_none(), "one piece of work at a time");
        self.background = Some(work);
    }

    /// Appends to the journal in parallel with everything else, from now on. Returns the event if the append has ended
    /// at once, because the disk has no thread of its own, and so have all before it.
    pub(super) fn spawn_append(&mut self, mut append: Task) -> Option<Event> {
        let ended = match append.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) if self.appends.is_empty() => return Some(event),
            Poll::Ready(event) => Box::pin(std::future::ready(event)),
            Poll::Pending => append,
        };
        self.appends.push_back(ended);
        None
    }

    /// Waits for the background work and the appends to end: their threads would hold the disk.
    pub(super) async fn join_background(&mut self) {
        while let Some(event) = self.appends.next().await {
            drop(event);
        }
        if self.background.is_some() {
            drop(background_done(&mut self.background).await);
        }
    }

    /// Sends the requests whose instant has come.
    pub(super) fn send_due(&mut self) {
        let now = Instant::now();
        self.lease_renewer.send_due(now);
        while let Some((_, task)) = self.held.pop_front_if(|(at, _)| *at <= now) {
            self.start(task);
        }
    }

    /// Starts a request with its first poll. So it leaves now and in its order, not when this thread is idle.
    fn start(&mut self, mut task: Task) {
        match task.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) => self.pending_events.push_back(event),
            Poll::Pending => self.in_flight.push(task),
        }
    }

    /// Sends a request that follows from work which started at `began`: at once, or at the pace's next instant.
    pub(super) fn send(&mut self, local: LocalWork, began: Instant, task: Task) {
        match &mut self.pacer {
            Some(pacer) => {
                let at = pacer.schedule(local, began, Instant::now());
                // An upload gets much time, so steps that started later may leave before it.
                let place = self.held.partition_point(|(other, _)| *other <= at);
                self.held.insert(place, (at, task));
            }
            None => self.start(task),
        }
    }

    /// Adds a task that needs no instant of the pace, because it makes no request of a step.
    pub(super) fn push_unpaced(&mut self, task: Task) {
        self.in_flight.push(task);
    }

    /// Lets the instant of a request pass without a request: no caller has one to send.
    pub(super) fn skip(&mut self, local: LocalWork, began: Instant) {
        if let Some(pacer) = &mut self.pacer {
            pacer.schedule(local, began, Instant::now());
        }
    }

    /// Runs work on the disk. Meanwhile requests in flight continue, and requests that are due leave.
    pub(super) async fn run_on_disk<T: Send + 'static>(
        &mut self,
        disk: &TrustedDisk,
        work: impl FnOnce(&TrustedDisk) -> Result<T, VaultError> + Send + 'static,
    ) -> Result<T, VaultError> {
        let mut working = std::pin::pin!(disk.run_blocking(work));
        loop {
            let leaves = self.next_departure();
            tokio::select! {
                biased;
                done = &mut working => return done,
                Some(event) = self.in_flight.next(), if !self.in_flight.is_empty() => self.pending_events.push_back(event),
                event = self.lease_renewer.wait_renewal() => self.pending_events.push_back(event),
                () = sleep_until(leaves), if leaves.is_some() => self.send_due(),
            }
        }
    }
}

/// Takes the next event when it is polled.
async fn pop(events: &mut VecDeque<Event>) -> Event {
    match events.pop_front() {
        Some(event) => event,
        None => std::future::pending().await,
    }
}

/// Waits for the end of the work. Waits forever if there is none.
async fn background_done(work: &mut Option<Task>) -> Event {
    let Some(working) = work else { return std::future::pending().await };
    let event = working.await;
    *work = None;
    event
}

/// Waits until this instant. Waits forever if there is none.
pub(super) async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
