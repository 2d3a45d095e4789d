//! Eager DetWoORAM: Chakravarty and Panda, "Introducing Fast and Secure Deterministic Stash Free Write Only Oblivious
//! RAMs for Demand Paging in Keystone" (2021), section 4.1.
//!
//! It is [DetWoORAM](super::detworam) with its work done ahead and afterwards: the K main slots that the next write
//! refreshes are known before the write comes. A **preload buffer** of ⌈K⌉ + 1 pages holds them and has room for the
//! page to be written.
//!
//! ```text
//! preload   read the newest copies of the main pages that write p refreshes         off-line
//! write p   copy the page into the buffer's first place; if it is one of those
//!           that were preloaded, replace its copy there as well                     on-line: no store
//! unload    write the holding slot, then the main slots, in their order             off-line
//!           p <- p + 1, and preload again
//! read      from the buffer if the newest copy is there, else from the store
//! ```
//!
//! [`step`](Oram::step) is one bounded step of unloading or of preloading: at most `step_pages` pages, one operation of
//! the store. The paper leaves it to a thread of its own and blocks every write while that runs. Here a driver steps it
//! between two writes, on any thread. A write that comes early does exactly the missing steps itself. Nothing must ever
//! be idled: without `step` this is DetWoORAM with the unloading put off until the next write. The paper seals the
//! pages when it preloads them; here the sealing layer does at the unloading, off-line too.
//!
//! **What waits for what.** An access and a step may be in flight together, as [`Oram`] defines.
//!
//! - A read never waits. While the buffer is being unloaded its pages are read from the buffer: no slot is read while
//!   the slot is being written. While the buffer is being preloaded, all that it holds is also in the store.
//! - A write (or a dummy) waits for the step in flight. Then it does the rest of unloading and preloading, in at most
//!   one write and one read of the store.
//! - A step waits for a write that is doing that, and then finds less to do, or nothing.
//!
//! **What the trace shows.** Adversary `Snapshot`: the slots change in exactly DetWoORAM's order. Their groups between
//! two moments follow from the times when `step` is driven. A driver that decides by public facts shows nothing by
//! these times. The last write is in the buffer only, until it is unloaded. [`pending_steps`](Oram::pending_steps)
//! follows from the counts of writes and steps. Adversary `Full`: **not hidden**, as in DetWoORAM; moreover, a read
//! that is answered from the buffer shows nothing, and every other shows a read.
//!
//! **Costs.** A write whose buffer is ready: one copy of a page, no round trip. Otherwise at most one round trip for
//! ⌈K⌉ + 1 slots written and one for ⌈K⌉ read. A read: no or one slot, no or one round trip. `step` after a write:
//! the same slots in ⌈(K + 1) / step⌉ + ⌈K / step⌉ steps. With a store that spreads a call over threads, and
//! `step_pages` of ⌈K⌉ + 1, Eager and Parallel are one.
//!
//! **Trusted state**: 4 bytes per page, ⌈K⌉ + 1 pages of buffer, two counters; see [`EagerOram::trusted_bytes`]. All of
//! it is allocated at construction: neither an access nor a step allocates.
//!
//! **Errors**: those of [`OramError`]; never `StashFull` or `Backlogged`. After a failure of the store, and after a
//! future of an access or a step that was dropped half-way, it answers [`OramError::Poisoned`] only.

use super::detworam::{DetWoParameters, DetWoParametersError};
use crate::concurrency::fifo_lock::FifoLock;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::position_map::copy_map::CopyMap;
use crate::range;
use crate::schemes::write_schedule::{Refreshes, WriteSchedule};
use crate::store::Store;
use crate::tree::layout::Layout;
use crate::types::{BlockId, Bucket, Slot};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::{Cell, RefCell};

/// The parameters of an Eager DetWoORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct EagerParameters {
    /// Pages, areas, batches.
    pub areas: DetWoParameters,
    /// The maximum number of pages that one step moves: at least 1. With ⌈N/M⌉ + 1 or more, one step unloads
    /// everything, or preloads everything.
    pub step_pages: u32,
}

impl EagerParameters {
    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), DetWoParametersError> {
        range::check(&[("step_pages", self.step_pages.into(), 1, u32::MAX.into())])?;
        self.areas.validate()
    }

    /// The untrusted memory that the scheme needs: the same as DetWoORAM.
    pub fn layout(&self) -> Layout {
        self.areas.layout()
    }
}

/// An Eager DetWoORAM over a store.
pub struct EagerOram<S> {
    parameters: EagerParameters,
    schedule: WriteSchedule,
    store: S,
    /// The lock of the buffer's changes: by a write, or by a step.
    lock: FifoLock,
    poison_flag: PoisonFlag,
    newest: RefCell<CopyMap>,
    buffer: RefCell<Buffer>,
    spare_slots: Cell<Vec<Slot>>,
    spare_buckets: Cell<Vec<Bucket>>,
}

/// The preload buffer of write p. Index 0 has the written page. Index 1 + d has refreshed page d, from 0.
struct Buffer {
    /// p, the write that the buffer is for.
    write: u64,
    /// The main slots that write p refreshes.
    due: Refreshes,
    progress: Progress,
    /// The pages. `None` while a preload has them; shared while they are unloaded.
    pages: Option<Arc<Vec<u8>>>,
}

#[derive(Clone, Copy, Debug)]
enum Progress {
    /// The first `loaded` of the pages to be refreshed are here, and write p has not come.
    Preloading { loaded: usize },
    /// Write p has come, and the first `unloaded` pages have been unloaded.
    Flush { page: Option<BlockId>, unloaded: usize },
}

impl Buffer {
    /// The number of pages that write p refreshes.
    fn refreshes(&self) -> usize {
        self.due.count_remaining() as usize
    }
}

/// Returns the pages to the holder of the lock. Only an unloading step shares them, and it holds the lock.
fn alone(pages: &mut Option<Arc<Vec<u8>>>) -> &mut [u8] {
    pages.as_mut().and_then(Arc::get_mut).expect("the holder of the lock has the only reference")
}

impl<S: Store> EagerOram<S> {
    /// An Eager DetWoORAM over a store that was never written: every page reads as zeros.
    ///
    /// # Errors
    /// [`DetWoParametersError`].
    pub fn new(parameters: EagerParameters, store: S) -> Result<Self, DetWoParametersError> {
        parameters.validate()?;
        let schedule = parameters.areas.schedule()?;
        let pages = DetWoParameters::max_pages(&schedule);
        let bytes = vec![0; pages * parameters.areas.block_bytes as usize];
        Ok(EagerOram {
            newest: RefCell::new(CopyMap::new(parameters.areas.capacity)),
            buffer: RefCell::new(Buffer {
                write: 0,
                due: schedule.refreshes(0),
                progress: Progress::Preloading { loaded: 0 },
                pages: Some(Arc::new(bytes)),
            }),
            spare_slots: Cell::new(Vec::with_capacity(pages - 1)),
            spare_buckets: Cell::new(Vec::with_capacity(pages)),
            parameters,
            schedule,
            store,
            lock: FifoLock::with_room(2),
            poison_flag: PoisonFlag::default(),
        })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &EagerParameters {
        &self.parameters
    }

    /// Writes so far, dummies included and the one in the buffer too. Public.
    pub fn writes(&self) -> u64 {
        let buffer = self.buffer.borrow();
        buffer.write + u64::from(matches!(buffer.progress, Progress::Flush { .. }))
    }

    /// Returns the number of bytes on the trusted side: position map, preload buffer, counters.
    pub fn trusted_bytes(&self) -> usize {
        let pages = DetWoParameters::max_pages(&self.schedule);
        let lists = (pages - 1) * size_of::<Slot>() + pages * size_of::<Bucket>();
        let fixed = size_of::<Self>() - size_of::<S>();
        fixed + self.newest.borrow().bytes() + pages * self.block_bytes() + lists
    }

    /// Copies a page out of the buffer, if its newest copy is there.
    fn read_buffer(&self, page: BlockId, into: &mut [u8]) -> bool {
        let buffer = self.buffer.borrow();
        let Some(pages) = &buffer.pages else {
            return false;
        };
        let refreshed = buffer.due.place_of(page.0).map(|place| 1 + place as usize);
        let place = match buffer.progress {
            Progress::Flush { page: held, .. } if held == Some(page) => Some(0),
            Progress::Flush { .. } => refreshed,
            Progress::Preloading { loaded } => refreshed.filter(|place| *place <= loaded),
        };
        let Some(place) = place else {
            return false;
        };
        into.copy_from_slice(&pages[place * into.len()..][..into.len()]);
        true
    }

    async fn read(&self, page: BlockId, into: &mut [u8]) -> Result<(), S::Error> {
        if self.read_buffer(page, into) {
            return Ok(());
        }
        let slot = Slot::only(self.newest.borrow().bucket(page));
        self.store.read(&[slot], into).await
    }

    /// Waits for a step in flight, does what is missing, and puts the page into the buffer.
    async fn write(&self, page: Option<(BlockId, &[u8])>) -> Result<(), OramError<S::Error>> {
        let _guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        while self.step(usize::MAX).await? {}
        let buffer = &mut *self.buffer.borrow_mut();
        let (held, preloaded) = alone(&mut buffer.pages).split_at_mut(self.block_bytes());
        match page {
            Some((page, bytes)) => {
                held.copy_from_slice(bytes);
                if let Some(place) = buffer.due.place_of(page.0) {
                    preloaded[place as usize * bytes.len()..][..bytes.len()].copy_from_slice(bytes);
                }
            }
            None => held.fill(0),
        }
        buffer.progress = Progress::Flush { page: page.map(|(page, _)| page), unloaded: 0 };
        Ok(())
    }

    /// Unloads or preloads at most this many pages. `false` if there is nothing left to do before the next write.
    async fn step(&self, max: usize) -> Result<bool, S::Error> {
        let progress = self.buffer.borrow().progress;
        match progress {
            Progress::Flush { page, unloaded } => self.unload(page, unloaded, max).await?,
            Progress::Preloading { loaded } if loaded < self.buffer.borrow().refreshes() => {
                self.preload(loaded, max).await?;
            }
            Progress::Preloading { .. } => return Ok(false),
        }
        Ok(true)
    }

    async fn unload(&self, page: Option<BlockId>, unloaded: usize, max: usize) -> Result<(), S::Error> {
        let (write, due, pages) = {
            let buffer = self.buffer.borrow();
            (buffer.write, buffer.due.clone(), buffer.pages.clone())
        };
        let pages = pages.expect("only a preload takes the pages away");
        let places = 1 + due.count_remaining() as usize;
        let after = unloaded + max.min(places - unloaded);
        let mut buckets = self.spare_buckets.take();
        buckets.clear();
        let holding_slot = self.schedule.holding_slot(write);
        let held = Bucket(self.parameters.areas.capacity + holding_slot);
        let all = core::iter::once(held).chain(due.map(Bucket));
        buckets.extend(all.skip(unloaded).take(after - unloaded));
        let block_bytes = self.block_bytes();
        self.store.write(&buckets, &pages[unloaded * block_bytes..after * block_bytes]).await?;
        drop(pages);

        let mut newest = self.newest.borrow_mut();
        for bucket in &buckets {
            match page {
                Some(page) if *bucket == held => newest.is_held(page, holding_slot),
                _ if *bucket == held => {}
                _ => newest.is_in_place(BlockId(bucket.0)),
            }
        }
        self.spare_buckets.set(buckets);
        let mut buffer = self.buffer.borrow_mut();
        if after < places {
            buffer.progress = Progress::Flush { page, unloaded: after };
        } else {
            buffer.write = write + 1;
            buffer.due = self.schedule.refreshes(write + 1);
            buffer.progress = Progress::Preloading { loaded: 0 };
        }
        Ok(())
    }

    async fn preload(&self, loaded: usize, max: usize) -> Result<(), S::Error> {
        let due = self.buffer.borrow().due.clone();
        let after = loaded + max.min(due.count_remaining() as usize - loaded);
        let mut slots = self.spare_slots.take();
        slots.clear();
        {
            let newest = self.newest.borrow();
            let due = due.skip(loaded).take(after - loaded);
            slots.extend(due.map(|slot| Slot::only(newest.bucket(BlockId(slot)))));
        }
        let block_bytes = self.block_bytes();
        let mut taken = self.buffer.borrow_mut().pages.take();
        let into = &mut alone(&mut taken)[(1 + loaded) * block_bytes..(1 + after) * block_bytes];
        self.store.read(&slots, into).await?;
        self.spare_slots.set(slots);
        let mut buffer = self.buffer.borrow_mut();
        buffer.pages = taken;
        buffer.progress = Progress::Preloading { loaded: after };
        Ok(())
    }
}

impl<S: Store> Oram for EagerOram<S> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.areas.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        admission::check_batch(batch, self.bounds())?;
        self.poison_flag.check()?;
        let operation = self.poison_flag.begin();
        for access in batch {
            match access {
                Access::Read(page, into) => self.read(*page, into).await?,
                Access::Write(page, from) => self.write(Some((*page, from))).await?,
                Access::Dummy => self.write(None).await?,
            }
        }
        operation.complete();
        Ok(())
    }

    /// Steps until the buffer is ready for the next write: first those that unload it, then those that preload it.
    fn pending_steps(&self) -> u64 {
        let buffer = self.buffer.borrow();
        let step = self.parameters.step_pages as usize;
        let steps = match buffer.progress {
            Progress::Preloading { loaded } => (buffer.refreshes() - loaded).div_ceil(step),
            Progress::Flush { unloaded, .. } => {
                let preload = self.schedule.refreshes(buffer.write + 1).count_remaining() as usize;
                (1 + buffer.refreshes() - unloaded).div_ceil(step) + preload.div_ceil(step)
            }
        };
        steps as u64
    }

    /// Never: a write does what is missing itself.
    fn must_step(&self) -> bool {
        false
    }

    /// Unloads or preloads at most `step_pages` pages.
    async fn step(&self) -> Result<(), OramError<S::Error>> {
        let _guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        let operation = self.poison_flag.begin();
        self.step(self.parameters.step_pages as usize).await?;
        operation.complete();
        Ok(())
    }
}

#[cfg(feature = "inspect")]
impl<S> crate::inspect::Inspect for EagerOram<S> {
    /// Has the pages of the preload buffer in the place of a stash.
    fn inspect(&self) -> Option<crate::inspect::Inspection> {
        use crate::inspect::TrustedBlock;
        let mut inspection = crate::inspect::newest_copies(&self.newest.borrow());
        let buffer = self.buffer.borrow();
        let due = buffer.due.clone().map(BlockId);
        let held: Vec<Option<BlockId>> = match buffer.progress {
            Progress::Preloading { loaded } => {
                core::iter::once(None).chain(due.map(Some).take(loaded)).collect()
            }
            Progress::Flush { page, .. } => core::iter::once(page).chain(due.map(Some)).collect(),
        };
        let block_bytes = self.parameters.areas.block_bytes as usize;
        let pages = buffer.pages.as_ref()?;
        inspection.stash.extend(held.iter().enumerate().filter_map(|(place, page)| {
            let payload = pages[place * block_bytes..][..block_bytes].to_vec();
            Some(TrustedBlock { block: (*page)?, leaf: None, payload })
        }));
        inspection.counters.push(("writes unloaded", buffer.write));
        Some(inspection)
    }
}
