//! Virtual time: a clock that jumps to the next instant at which anything happens, and a store whose operations take
//! virtual time.

use super::executor::Executor;
use super::trace_store::{TraceEntry, TraceStore};
use crate::store::Store;
use crate::types::{Bucket, Slot};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::task::{Poll, Waker};

/// An instant or a span of virtual time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

/// A clock that stands still while anything can continue.
#[derive(Default)]
pub struct Clock {
    now: Cell<Micros>,
    /// The sleepers, by the instant and the order in which they began to wait.
    sleepers: RefCell<BTreeMap<(Micros, u64), Waker>>,
    slept: Cell<u64>,
}

impl Clock {
    /// The present instant of the clock.
    pub fn now(&self) -> Micros {
        self.now.get()
    }

    /// Waits for an instant.
    pub async fn sleep_until(&self, instant: Micros) {
        let nth = self.slept.replace(self.slept.get() + 1);
        poll_fn(|context| {
            if self.now.get() >= instant {
                return Poll::Ready(());
            }
            self.sleepers.borrow_mut().insert((instant, nth), context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Waits for so long.
    pub async fn sleep(&self, span: Micros) {
        self.sleep_until(Micros(self.now.get().0 + span.0)).await;
    }

    /// Lets tasks continue, instant after instant, until all of them sleep forever or have ended.
    pub fn run(&self, executor: &mut Executor<'_>) {
        loop {
            executor.run();
            let next = self.sleepers.borrow_mut().pop_first();
            let Some(((instant, _), waker)) = next else { break };
            self.now.set(instant);
            waker.wake();
            while let Some(sleeper) =
                self.sleepers.borrow_mut().first_entry().filter(|next| next.key().0 == instant)
            {
                sleeper.remove().wake();
            }
        }
    }
}

/// An event at the store: when, what, and whether it was asked or answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreEvent {
    /// The time of the event.
    pub at: Micros,
    /// The store operation.
    pub operation: TraceEntry,
    /// True for an answer, false for a request.
    pub answered: bool,
}

/// A store over one that is ready at once. Its operations take a public time, which depends on the number of slots and
/// on the operation's own number.
pub struct SlowStore<'a, S> {
    inner: S,
    /// The store that records the requests.
    recorder: &'a TraceStore,
    clock: &'a Clock,
    requested: Cell<u64>,
    events: RefCell<Vec<StoreEvent>>,
}

impl<'a, S: Store> SlowStore<'a, S> {
    /// A store over `inner`, which `recorder` is or lies below.
    pub fn new(inner: S, recorder: &'a TraceStore, clock: &'a Clock) -> Self {
        let (requested, events) = <_>::default();
        SlowStore { inner, recorder, clock, requested, events }
    }

    /// Takes the events so far, in their order.
    pub fn take_events(&self) -> Vec<StoreEvent> {
        self.events.take()
    }

    /// Waits as long as what was just asked takes.
    async fn take_time(&self) {
        let operations = self.recorder.take_trace();
        for operation in operations {
            let slots = match &operation {
                TraceEntry::Read(slots) => slots.len(),
                TraceEntry::Write(buckets) => buckets.len(),
            };
            let nth = self.requested.replace(self.requested.get() + 1);
            let spread = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
            self.record(&operation, false);
            self.clock.sleep(Micros(20_000 + 300 * slots as u64 + spread)).await;
            self.record(&operation, true);
        }
    }

    fn record(&self, operation: &TraceEntry, answered: bool) {
        let event = StoreEvent { at: self.clock.now(), operation: operation.clone(), answered };
        self.events.borrow_mut().push(event);
    }
}

impl<S: Store> Store for SlowStore<'_, S> {
    type Error = S::Error;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), S::Error> {
        self.inner.read(slots, into).await?;
        self.take_time().await;
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), S::Error> {
        self.inner.write(buckets, from).await?;
        self.take_time().await;
        Ok(())
    }
}
