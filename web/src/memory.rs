//! Untrusted memory that shows each request, and serves it on command.

use ameles_core::store::Store;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Slot};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// A message between processors as the provider sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentMessage {
    /// The processor that sends the message.
    pub from: u32,
    /// The processor that receives the message.
    pub to: u32,
    /// The length in bytes.
    pub bytes: usize,
}

/// An operation that the provider sees: of the store, or a step of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// True for a write.
    pub writes: bool,
    /// The slots that it touches, by their numbers in the whole memory, in the order of the request.
    pub slots: Vec<u64>,
    /// The messages of a step of the network; none in an operation of the store.
    pub messages: Vec<SentMessage>,
    /// The new contents of these slots, for a write.
    bytes: Vec<u8>,
}

/// The place of a bucket.
#[derive(Clone, Copy)]
struct Place {
    first_slot: u64,
    first_byte: usize,
    slots: u32,
    slot_bytes: usize,
}

/// Memory for a [`Layout`]. Each operation waits for [`complete`](Self::complete). A read answers with the content at
/// the time of the request; a write takes effect when it is completed.
pub struct Memory {
    places: Vec<Place>,
    bytes: RefCell<Vec<u8>>,
    /// Tells for each slot whether it was ever written.
    written: RefCell<Vec<bool>>,
    waiting: RefCell<VecDeque<Operation>>,
    operations_issued: Cell<u64>,
    /// The waiting futures, of which a scheme may drive many concurrently.
    wakers: RefCell<Vec<Waker>>,
    completed: Cell<u64>,
}

/// The contents of memory, with the waiting writes already applied.
pub struct Contents {
    /// The bytes of each slot, in the order of their numbers.
    pub slots: Vec<Vec<u8>>,
    /// Tells for each slot whether it was ever written.
    pub written: Vec<bool>,
}

impl Memory {
    /// Memory that was never written.
    pub fn new(layout: &Layout) -> Self {
        let (mut places, mut first_slot, mut first_byte) = (Vec::new(), 0, 0);
        for extent in layout.extents() {
            let (slots, slot_bytes) = (extent.slots, extent.slot_bytes as usize);
            for _ in 0..extent.buckets {
                places.push(Place { first_slot, first_byte, slots, slot_bytes });
                first_slot += u64::from(slots);
                first_byte += slots as usize * slot_bytes;
            }
        }
        Memory {
            places,
            bytes: RefCell::new(vec![0; first_byte]),
            written: RefCell::new(vec![false; first_slot as usize]),
            waiting: RefCell::default(),
            operations_issued: Cell::new(0),
            wakers: RefCell::default(),
            completed: Cell::new(0),
        }
    }

    /// The number of a slot in the whole memory.
    pub fn number(&self, slot: Slot) -> u64 {
        self.places[slot.bucket.0 as usize].first_slot + u64::from(slot.index)
    }

    /// The numbers of all slots of a bucket.
    pub fn numbers(&self, bucket: Bucket) -> impl Iterator<Item = u64> + use<> {
        let Place { first_slot, slots, .. } = self.places[bucket.0 as usize];
        first_slot..first_slot + u64::from(slots)
    }

    /// The oldest waiting operation.
    pub fn waiting(&self) -> Option<Operation> {
        self.waiting.borrow().front().cloned()
    }

    /// The slots of all reads that wait.
    pub fn being_read(&self) -> Vec<u64> {
        let waiting = self.waiting.borrow();
        waiting.iter().filter(|operation| !operation.writes).flat_map(|read| read.slots.clone()).collect()
    }

    /// Completes the oldest waiting operation: it is done at the next poll of its scheme.
    pub fn complete(&self) {
        if self.waiting.borrow_mut().pop_front().is_some() {
            self.completed.set(self.completed.get() + 1);
            self.wakers.take().into_iter().for_each(Waker::wake);
        }
    }

    /// The contents, with the waiting writes already applied.
    pub fn contents(&self) -> Contents {
        let (bytes, mut written) = (self.bytes.borrow(), self.written.borrow().clone());
        let mut slots: Vec<Vec<u8>> = Vec::with_capacity(written.len());
        for place in &self.places {
            let range = place.first_byte..place.first_byte + place.slots as usize * place.slot_bytes;
            slots.extend(chunks(&bytes[range], place.slots, place.slot_bytes));
        }
        for operation in self.waiting.borrow().iter().filter(|operation| operation.writes) {
            let mut from = &operation.bytes[..];
            for slot in &operation.slots {
                let slot = *slot as usize;
                let (here, rest) = from.split_at(slots[slot].len());
                slots[slot].copy_from_slice(here);
                written[slot] = true;
                from = rest;
            }
        }
        Contents { slots, written }
    }

    /// Requests a step of the network, and waits until its messages have come.
    pub async fn send(&self, messages: Vec<SentMessage>) {
        self.done(Operation { messages, ..Operation::default() }).await;
    }

    /// Requests an operation, and waits until it was completed.
    async fn done(&self, operation: Operation) {
        self.waiting.borrow_mut().push_back(operation);
        let ticket = self.operations_issued.get();
        self.operations_issued.set(ticket + 1);
        poll_fn(|context| {
            if self.completed.get() > ticket {
                return Poll::Ready(());
            }
            self.wakers.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// The bytes of each slot of a bucket; slots may have no bytes.
fn chunks(bytes: &[u8], slots: u32, slot_bytes: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..slots as usize).map(move |slot| bytes[slot * slot_bytes..(slot + 1) * slot_bytes].to_vec())
}

impl Store for Memory {
    type Error = Infallible;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Infallible> {
        let mut at = 0;
        for slot in slots {
            let place = self.places[slot.bucket.0 as usize];
            let start = place.first_byte + slot.index as usize * place.slot_bytes;
            let bytes = &self.bytes.borrow()[start..start + place.slot_bytes];
            into[at..at + place.slot_bytes].copy_from_slice(bytes);
            at += place.slot_bytes;
        }
        // An empty request is not sent.
        if !slots.is_empty() {
            let slots = slots.iter().map(|slot| self.number(*slot)).collect();
            self.done(Operation { slots, ..Operation::default() }).await;
        }
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), Infallible> {
        if buckets.is_empty() {
            return Ok(());
        }
        let slots: Vec<u64> = buckets.iter().flat_map(|bucket| self.numbers(*bucket)).collect();
        let operation =
            Operation { writes: true, slots: slots.clone(), bytes: from.to_vec(), ..Operation::default() };
        self.done(operation).await;
        let mut at = 0;
        for bucket in buckets {
            let Place { first_byte, slots, slot_bytes, .. } = self.places[bucket.0 as usize];
            let bytes = slots as usize * slot_bytes;
            self.bytes.borrow_mut()[first_byte..first_byte + bytes].copy_from_slice(&from[at..at + bytes]);
            at += bytes;
        }
        for slot in slots {
            self.written.borrow_mut()[slot as usize] = true;
        }
        Ok(())
    }
}
