//! A store in memory that records what its adversary sees, and may finish its operations late and in any order.

use crate::network::{Message, Processor};
use crate::store::Store;
use crate::tree::layout::Layout;
use crate::types::{Bucket, Slot};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::task::{Poll, Waker};

/// An operation of the trace, recorded when it was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEntry {
    /// These slots were read together.
    Read(Vec<Slot>),
    /// These buckets were written together.
    Write(Vec<Bucket>),
}

/// The visible actions of several processors: a processor requests something, or they send each other messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessorAction {
    /// This processor made this request.
    StoreRequest(Processor, TraceEntry),
    /// These messages were sent in one step.
    Messages(Vec<SentMessage>),
}

/// The part of a message that an adversary sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// The processor that sent it.
    pub from: Processor,
    /// The processor that receives the message.
    pub to: Processor,
    /// The sent message's length in bytes.
    pub bytes: usize,
}

/// Something that was recorded.
#[derive(Clone, Debug)]
pub(crate) enum Recorded {
    /// The only processor made this request.
    Single(TraceEntry),
    /// A processor of several made this request.
    Processor(ProcessorAction),
}

/// Memory for a [`Layout`]. Ready at once, until [`hold_back`](Self::hold_back): then each operation waits for
/// [`complete`](Self::complete) or [`fail`](Self::fail). A write takes effect only then; a read answers with what was
/// there when it was requested, as [`Store`] promises.
///
/// It checks the scheme. It panics if a bucket is read or written while its write is under way. In a real store this is
/// a race with any result.
pub struct TraceStore {
    layout: Layout,
    bytes: RefCell<Vec<u8>>,
    starts: Vec<usize>,
    /// The first bucket of each extent.
    firsts: Vec<u64>,
    trace: RefCell<Vec<Recorded>>,
    recording: Cell<bool>,
    holding_back: Cell<bool>,
    pending: RefCell<Vec<Pending>>,
    issued: Cell<u64>,
}

/// The failure that a test requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the test let this operation fail")]
pub struct TraceStoreError;

struct Pending {
    nth: u64,
    writes: Vec<Bucket>,
    outcome: Option<Result<(), TraceStoreError>>,
    waker: Option<Waker>,
}

impl TraceStore {
    /// A store that was never written: zeros.
    pub fn new(layout: Layout) -> Self {
        let (mut starts, mut firsts, mut next) = (vec![0], Vec::new(), 0);
        for extent in layout.extents() {
            firsts.push(next);
            next += extent.buckets;
            let bytes = extent.buckets as usize * extent.slots as usize * extent.slot_bytes as usize;
            starts.push(starts[starts.len() - 1] + bytes);
        }
        TraceStore {
            bytes: RefCell::new(vec![0; starts[starts.len() - 1]]),
            starts,
            firsts,
            layout,
            trace: RefCell::default(),
            recording: Cell::new(true),
            holding_back: Cell::new(false),
            pending: RefCell::default(),
            issued: Cell::new(0),
        }
    }

    /// The layout of its buckets.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Takes the trace recorded so far, of all processors. Messages are not part of it.
    pub fn take_trace(&self) -> Vec<TraceEntry> {
        let entry = |recorded| match recorded {
            Recorded::Single(entry) | Recorded::Processor(ProcessorAction::StoreRequest(_, entry)) => {
                Some(entry)
            }
            Recorded::Processor(ProcessorAction::Messages(_)) => None,
        };
        self.trace.take().into_iter().filter_map(entry).collect()
    }

    /// Takes what was recorded so far of several processors: the trace of each, and the messages.
    pub fn take_actions(&self) -> Vec<ProcessorAction> {
        let act = |recorded| match recorded {
            Recorded::Processor(act) => Some(act),
            Recorded::Single(_) => None,
        };
        self.trace.take().into_iter().filter_map(act).collect()
    }

    /// Takes all that was recorded so far.
    pub(crate) fn take_recorded(&self) -> Vec<Recorded> {
        self.trace.take()
    }

    /// Sets whether operations are recorded; by default they are.
    pub fn record(&self, recording: bool) {
        self.recording.set(recording);
    }

    /// Sets whether operations from now on wait for [`complete`](Self::complete).
    pub fn hold_back(&self, holding_back: bool) {
        self.holding_back.set(holding_back);
    }

    /// Operations that wait.
    pub fn pending(&self) -> usize {
        self.pending.borrow().iter().filter(|pending| pending.outcome.is_none()).count()
    }

    /// Lets the `nth` of the waiting operations, in the order asked, finish at its next poll.
    ///
    /// # Panics
    /// If there is no such waiting operation.
    pub fn complete(&self, nth: usize) {
        self.decide(nth, Ok(()));
    }

    /// Lets the `nth` of the waiting operations, in the order of their requests, fail without an effect.
    ///
    /// # Panics
    /// If there is no such waiting operation.
    pub fn fail(&self, nth: usize) {
        self.decide(nth, Err(TraceStoreError));
    }

    fn decide(&self, nth: usize, outcome: Result<(), TraceStoreError>) {
        let mut pending = self.pending.borrow_mut();
        let chosen = pending.iter_mut().filter(|pending| pending.outcome.is_none()).nth(nth);
        let chosen = chosen.expect("so many operations wait");
        chosen.outcome = Some(outcome);
        if let Some(waker) = chosen.waker.take() {
            waker.wake();
        }
    }

    /// The present contents of untrusted memory, to be put back later.
    pub fn contents(&self) -> Vec<u8> {
        self.bytes.borrow().clone()
    }

    /// Puts back what [`contents`](Self::contents) gave.
    pub fn set_contents(&self, contents: &[u8]) {
        self.bytes.borrow_mut().copy_from_slice(contents);
    }

    /// Lets the adversary at the bytes of a slot.
    pub fn tamper(&self, slot: Slot, change: impl FnOnce(&mut [u8])) {
        let (start, len) = self.range(slot.bucket, slot.index);
        change(&mut self.bytes.borrow_mut()[start..start + len]);
    }

    fn range(&self, bucket: Bucket, index: u32) -> (usize, usize) {
        let nth = self.firsts.partition_point(|first| *first <= bucket.0) - 1;
        let (extent, within) = (&self.layout.extents()[nth], bucket.0 - self.firsts[nth]);
        assert!(within < extent.buckets, "{bucket} is outside of the layout");
        assert!(index < extent.slots, "{bucket} has {} slots", extent.slots);
        let slot = within as usize * extent.slots as usize + index as usize;
        (self.starts[nth] + slot * extent.slot_bytes as usize, extent.slot_bytes as usize)
    }

    async fn finish(&self, writes: &[Bucket]) -> Result<(), TraceStoreError> {
        if !self.holding_back.get() {
            return Ok(());
        }
        let nth = self.issued.get();
        self.issued.set(nth + 1);
        self.pending.borrow_mut().push(Pending { nth, writes: writes.to_vec(), outcome: None, waker: None });
        poll_fn(|context| {
            let mut pending = self.pending.borrow_mut();
            let at =
                pending.iter().position(|pending| pending.nth == nth).expect("it waits until it is decided");
            if let Some(outcome) = pending[at].outcome {
                pending.remove(at);
                return Poll::Ready(outcome);
            }
            pending[at].waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn no_race(&self, buckets: impl Iterator<Item = Bucket>) {
        let pending = self.pending.borrow();
        if pending.is_empty() {
            return;
        }
        for bucket in buckets {
            let races = pending.iter().any(|pending| pending.writes.contains(&bucket));
            assert!(!races, "{bucket} was asked for while its write is under way");
        }
    }

    fn shows(&self, processor: Option<Processor>, entry: TraceEntry) {
        if self.recording.get() {
            let recorded = match processor {
                Some(processor) => Recorded::Processor(ProcessorAction::StoreRequest(processor, entry)),
                None => Recorded::Single(entry),
            };
            self.trace.borrow_mut().push(recorded);
        }
    }

    /// Reads for one of several processors, or for the only one.
    pub(super) async fn read_for(
        &self,
        processor: Option<Processor>,
        slots: &[Slot],
        into: &mut [u8],
    ) -> Result<(), TraceStoreError> {
        self.no_race(slots.iter().map(|slot| slot.bucket));
        self.shows(processor, TraceEntry::Read(slots.to_vec()));
        let mut at = 0;
        for slot in slots {
            let (start, len) = self.range(slot.bucket, slot.index);
            into[at..at + len].copy_from_slice(&self.bytes.borrow()[start..start + len]);
            at += len;
        }
        assert_eq!(at, into.len(), "a read is given exactly its slots' length");
        self.finish(&[]).await
    }

    /// Writes for one of several processors, or for the only one.
    pub(super) async fn write_for(
        &self,
        processor: Option<Processor>,
        buckets: &[Bucket],
        from: &[u8],
    ) -> Result<(), TraceStoreError> {
        self.no_race(buckets.iter().copied());
        self.shows(processor, TraceEntry::Write(buckets.to_vec()));
        self.finish(buckets).await?;
        let mut bytes = self.bytes.borrow_mut();
        let mut at = 0;
        for bucket in buckets {
            let (start, _) = self.range(*bucket, 0);
            let len = self.layout.bucket_bytes(*bucket);
            bytes[start..start + len].copy_from_slice(&from[at..at + len]);
            at += len;
        }
        assert_eq!(at, from.len(), "a write is given exactly its buckets' length");
        Ok(())
    }

    /// Sends messages, like any operation: it waits and may fail.
    pub(super) async fn send(&self, messages: &[Message]) -> Result<(), TraceStoreError> {
        if self.recording.get() {
            let sent = |message: &Message| {
                let Message { from, to, contents } = message;
                SentMessage { from: *from, to: *to, bytes: contents.len() }
            };
            let sent = ProcessorAction::Messages(messages.iter().map(sent).collect());
            self.trace.borrow_mut().push(Recorded::Processor(sent));
        }
        self.finish(&[]).await
    }
}

impl Store for TraceStore {
    type Error = TraceStoreError;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), TraceStoreError> {
        self.read_for(None, slots, into).await
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), TraceStoreError> {
        self.write_for(None, buckets, from).await
    }
}
