//! The log of CURIOUS: what each access left in its block, in a circle of slots in untrusted memory. A client that
//! died finds there what its eviction cache held.

use crate::concurrency::fifo_lock::FifoLock;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::range::{self, OutOfRange};
use crate::store::Store;
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::tree::layout::{Extent, Layout};
use crate::types::{BlockId, Bucket, Leaf, Slot};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use futures_util::future::try_join;

/// A scheme whose accesses are logged: each writes one slot, a dummy too.
///
/// The slots of a batch are written in parallel with the work of the next batch or step, so they cost no round trip. An
/// answer does not wait for its slot. So the last acknowledged accesses may be missing from the log, as in the paper.
///
/// **What the trace shows**: how many accesses there were, as without the log. Slot after slot is written; after the
/// last slot comes the first.
pub struct Logged<O, S> {
    oram: O,
    store: S,
    first_bucket: Bucket,
    slots: u64,
    lock: FifoLock,
    poison_flag: PoisonFlag,
    /// The accesses that were logged, those whose slots were written, and the slots of the others.
    logged: Cell<u64>,
    written: Cell<u64>,
    waiting: RefCell<Vec<u8>>,
}

/// The untrusted memory of a log of this many slots for blocks of this many bytes, in plaintext bytes: buckets of one
/// slot.
pub fn log_layout(slots: u64, block_bytes: usize) -> Layout {
    let slot_bytes = (HEADER_BYTES + block_bytes) as u32;
    Layout::new(alloc::vec![Extent { buckets: slots, slots: 1, slot_bytes }])
}

impl<O: Oram<Error = S::Error>, S: Store> Logged<O, S> {
    /// A log of this many slots: 1 to 2^31. Its buckets are numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`OutOfRange`] for a log of another length.
    pub fn new(oram: O, slots: u64, first_bucket: Bucket, store: S) -> Result<Self, OutOfRange> {
        range::check(&[("slots", slots, 1, 1 << 31)])?;
        let (lock, poison_flag, logged, written, waiting) = <_>::default();
        Ok(Logged { oram, store, first_bucket, slots, lock, poison_flag, logged, written, waiting })
    }

    /// The scheme.
    pub fn oram(&self) -> &O {
        &self.oram
    }

    /// Reads the log, the newest access first. Each access whose slot was not written over gives its block and the
    /// contents that it left.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn read(&self) -> Result<Vec<(BlockId, Vec<u8>)>, S::Error> {
        let slots: Vec<Slot> =
            (0..self.slots).map(|slot| Slot::only(Bucket(self.first_bucket.0 + slot))).collect();
        let slot_bytes = HEADER_BYTES + self.oram.block_bytes();
        let mut bytes = alloc::vec![0; slots.len() * slot_bytes];
        self.store.read_buffer(&slots, &mut bytes).await?;
        let records = bytes.chunks_exact(slot_bytes).map(|record| record.split_at(HEADER_BYTES));
        let mut found: Vec<(Leaf, BlockId, &[u8])> = records
            .filter_map(|(header, payload)| {
                let (block, access) = block_header::read(header)?;
                Some((access, block, payload))
            })
            .collect();
        found.sort_unstable_by_key(|(access, _, _)| core::cmp::Reverse(*access));
        Ok(found.into_iter().map(|(_, block, payload)| (block, payload.to_vec())).collect())
    }

    /// Writes the slots that wait. A write has at most as many slots as the log. The next write begins after it, so
    /// that no two writes of a slot are in flight.
    async fn write(&self) -> Result<(), OramError<S::Error>> {
        let _guard = self.lock.acquire().await;
        let slot_bytes = HEADER_BYTES + self.oram.block_bytes();
        while !self.waiting.borrow().is_empty() {
            let begin = self.written.get();
            let end = self.logged.get().min(begin + self.slots);
            let mut records =
                self.waiting.borrow_mut().drain(..(end - begin) as usize * slot_bytes).collect();
            self.written.set(end);
            let bucket = |access: u64| Bucket(self.first_bucket.0 + access % self.slots);
            let buckets: Vec<Bucket> = (begin..end).map(bucket).collect();
            self.store.write_buffer(&buckets, &mut records).await?;
        }
        Ok(())
    }

    /// Records what the accesses of a batch left in their blocks.
    fn note(&self, batch: &[Access<'_>]) {
        let waiting = &mut *self.waiting.borrow_mut();
        for access in batch {
            let nth = self.logged.replace(self.logged.get() + 1);
            let begin = waiting.len();
            waiting.resize(begin + HEADER_BYTES + self.oram.block_bytes(), 0);
            let (header, into) = waiting[begin..].split_at_mut(HEADER_BYTES);
            match access {
                Access::Read(block, payload) => {
                    block_header::write(header, *block, Leaf(nth));
                    into.copy_from_slice(payload);
                }
                Access::Write(block, payload) => {
                    block_header::write(header, *block, Leaf(nth));
                    into.copy_from_slice(payload);
                }
                Access::Dummy => {}
            }
        }
    }
}

impl<O: Oram<Error = S::Error>, S: Store> Oram for Logged<O, S> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.oram.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        admission::check_batch(batch, self.bounds())?;
        let operation = admission::begin(self, &self.poison_flag)?;
        try_join(self.oram.access(batch), self.write()).await?;
        self.note(batch);
        operation.complete();
        Ok(())
    }

    fn pending_steps(&self) -> u64 {
        self.oram.pending_steps().max(u64::from(!self.waiting.borrow().is_empty()))
    }

    fn must_step(&self) -> bool {
        self.oram.must_step()
    }

    async fn step(&self) -> Result<(), OramError<S::Error>> {
        self.poison_flag.check()?;
        let operation = self.poison_flag.begin();
        try_join(self.oram.step(), self.write()).await?;
        operation.complete();
        Ok(())
    }

    fn max_concurrent_steps(&self) -> usize {
        self.oram.max_concurrent_steps()
    }

    fn emergencies(&self) -> u64 {
        self.oram.emergencies()
    }
}
