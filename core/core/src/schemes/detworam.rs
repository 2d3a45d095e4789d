//! DetWoORAM: Roche, Aviv, Choi, Mayberry, "Deterministic, Stash-Free Write-Only ORAM", CCS 2017. This is Algorithm 1
//! of Chakravarty and Panda, "Introducing Fast and Secure Deterministic Stash Free Write Only Oblivious RAMs for Demand
//! Paging in Keystone" (2021).
//!
//! ```text
//!  1  pth write, at address a with data d
//!  3  D[N + (p mod M)] <- ENC(d)
//!  4  Pos[a] <- N + (p mod M)
//!  8  for i in the main slots that are due:  D[i] <- ENC(DEC(D[Pos[i]]));  Pos[i] <- i
//! 12  p <- p + 1
//!     read of address a:  DEC(D[Pos[a]])
//! ```
//!
//! Untrusted memory is a main area, buckets `0..N`, where page a has slot a, and a holding area, buckets `N..N + M`. A
//! write puts the page into the next holding slot and refreshes the K = N/M main slots that are due. Each of these gets
//! the newest copy of its own page from the place where it is. The slots that are due are a function of the count of
//! writes, see [`WriteSchedule`]. When a holding slot is used again, its page is in the main area. So there is no
//! stash, no randomness and no pending work.
//!
//! **What the trace shows.** The adversary `Snapshot` sees which slots changed between two moments. It learns only the
//! number of writes. A [dummy](Access::Dummy) is a write of no page and shows the same as a write. Reads change
//! nothing. Every due slot is written, even if its page has not changed or is already there. The sealing layer makes
//! each write look new. Adversary `Full`, who sees reads too: **not hidden**. A read goes straight to the newest copy,
//! and so do the reads of a refresh.
//!
//! **Costs.** A read: one slot, one round trip, copied straight into the caller's buffer. A write: at most ⌈K⌉ slots
//! read in one round trip, and at most ⌈K⌉ + 1 written in another. Over a store that spreads a call over threads, this
//! is the Parallel DetWoORAM of the paper's section 4.2. There, each slot of a write has a thread. Some stores
//! [move](Store::move_pages) pages while the program runs, and read ahead the pages that the scheme
//! [announces](Store::prefetch). Over such a store, this is the Eager DetWoORAM of section 4.1. Over other stores,
//! [`eager`](super::eager) is.
//!
//! **Trusted state**: 4 bytes per page, ⌈K⌉ + 1 pages of buffer, a counter; see [`DetWoOram::trusted_bytes`]. All of it
//! is allocated at construction: no access allocates.
//!
//! **Errors**: those of [`OramError`]; never `StashFull` or `Backlogged`. After a failure of the store, and after a
//! future that was dropped half-way, it answers [`OramError::Poisoned`] only.

use crate::concurrency::exclusive::Exclusive;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::position_map::copy_map::CopyMap;
use crate::range::{self, OutOfRange};
use crate::schemes::write_schedule::{Refreshes, WriteSchedule};
use crate::store::{PageMoves, Store};
use crate::tree::layout::{Extent, Layout};
use crate::types::{BlockId, Bucket, Slot};
use alloc::vec;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::{Cell, RefCell};

/// The parameters of a DetWoORAM, and of [its eager form](super::eager). All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct DetWoParameters {
    /// N, pages that the user can address, and slots of the main area: 1 to 2^32 - 1.
    pub capacity: u64,
    /// M, the number of slots of the holding area: 1 to N. A write refreshes N/M main slots.
    pub holding: u64,
    /// The size of a page in bytes: 0 to 2^24 (simulators move no payload). Position map and buffer must fit the
    /// address space.
    pub block_bytes: u32,
    /// The maximum number of accesses in one batch: at least 1. Nothing grows with it.
    pub max_batch: u32,
}

/// The reason why parameters of a DetWoORAM are refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetWoParametersError {
    /// A value that is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The trusted state does not fit the address space.
    #[error(
        "{bytes} bytes of position map and buffer do not fit the address space: raise holding or lower capacity"
    )]
    AddressSpace {
        /// 4·N bytes of position map, ⌈N/M⌉ + 1 pages of buffer with their numbers.
        bytes: u64,
    },
}

impl DetWoParameters {
    /// Parameters for a ratio K of main to holding area, in batches of two: a page out, a page in. The holding area
    /// has ⌈N/K⌉ slots. K is at least 1; the paper measures 3, 7 and 15.
    pub fn for_ratio(capacity: u64, ratio: u64, block_bytes: u32) -> Self {
        let holding = capacity.div_ceil(ratio.max(1));
        DetWoParameters { capacity, holding, block_bytes, max_batch: 2 }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), DetWoParametersError> {
        self.schedule().map(|_| ())
    }

    /// The schedule that says where writes go.
    ///
    /// # Errors
    /// The errors of [`validate`](Self::validate).
    pub fn schedule(&self) -> Result<WriteSchedule, DetWoParametersError> {
        range::check_bounds(self.bounds(), u32::MAX.into(), u32::MAX)?;
        let schedule = WriteSchedule::new(self.capacity, self.holding)?;
        // Below 2^32 pages of at most 2^24 bytes: no overflow.
        let page_bytes = u64::from(self.block_bytes) + (size_of::<Slot>() + size_of::<Bucket>()) as u64;
        let bytes = self.capacity * size_of::<u32>() as u64 + (schedule.max_refreshes() + 1) * page_bytes;
        if bytes > isize::MAX as u64 {
            return Err(DetWoParametersError::AddressSpace { bytes });
        }
        Ok(schedule)
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes: N + M buckets of one slot.
    pub fn layout(&self) -> Layout {
        let buckets = self.capacity + self.holding;
        Layout::new(vec![Extent { buckets, slots: 1, slot_bytes: self.block_bytes }])
    }

    /// Returns the maximum number of pages that a write moves: ⌈N/M⌉ are refreshed, and one goes into the holding area.
    pub(crate) fn max_pages(schedule: &WriteSchedule) -> usize {
        schedule.max_refreshes() as usize + 1
    }
}

/// A DetWoORAM over a store.
pub struct DetWoOram<S> {
    parameters: DetWoParameters,
    schedule: WriteSchedule,
    store: S,
    exclusive: Exclusive,
    newest: RefCell<CopyMap>,
    /// p: writes so far, dummies included.
    writes: Cell<u64>,
    spare: Cell<Moved>,
}

/// The slots and pages that one write moves, kept so that its buffers are used again.
#[derive(Default)]
struct Moved {
    /// The places of the newest copies of the pages to be refreshed.
    from: Vec<Slot>,
    /// The holding slot, then the main slots.
    to: Vec<Bucket>,
    /// The pages, in the order of `to`.
    bytes: Vec<u8>,
}

impl<S: Store> DetWoOram<S> {
    /// A DetWoORAM over a store that was never written: every page reads as zeros.
    ///
    /// # Errors
    /// [`DetWoParametersError`].
    pub fn new(parameters: DetWoParameters, store: S) -> Result<Self, DetWoParametersError> {
        let schedule = parameters.schedule()?;
        let pages = DetWoParameters::max_pages(&schedule);
        Ok(DetWoOram {
            newest: RefCell::new(CopyMap::new(parameters.capacity)),
            spare: Cell::new(Moved {
                from: Vec::with_capacity(pages - 1),
                to: Vec::with_capacity(pages),
                bytes: vec![0; pages * parameters.block_bytes as usize],
            }),
            parameters,
            schedule,
            store,
            exclusive: Exclusive::with_room(2),
            writes: Cell::new(0),
        })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &DetWoParameters {
        &self.parameters
    }

    /// Writes so far, dummies included. Public.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }

    /// Returns the number of bytes on the trusted side: position map, buffer, counter.
    pub fn trusted_bytes(&self) -> usize {
        let pages = DetWoParameters::max_pages(&self.schedule);
        let lists = (pages - 1) * size_of::<Slot>() + pages * size_of::<Bucket>();
        let fixed = size_of::<Self>() - size_of::<S>();
        fixed + self.newest.borrow().bytes() + pages * self.block_bytes() + lists
    }

    /// Lines 3 to 12. Reads all due pages in one operation, then writes all in another, holding slot first. So a store
    /// with threads can spread each operation. The page being written may itself be due: its old copy is read like any
    /// other and then replaced.
    async fn write(&self, page: Option<(BlockId, &[u8])>) -> Result<(), S::Error> {
        let mut moved = self.spare.take();
        let write = self.writes.get();
        let due = self.schedule.refreshes(write);
        let holding_slot = self.schedule.holding_slot(write);
        self.look_up(&due, &mut moved.from);
        moved.to.clear();
        moved.to.push(Bucket(self.parameters.capacity + holding_slot));
        moved.to.extend(due.clone().map(Bucket));
        let held = &mut moved.bytes[..self.block_bytes()];
        match page {
            Some((_, bytes)) => held.copy_from_slice(bytes),
            None => held.fill(0),
        }
        let replaced = page.and_then(|(page, _)| due.place_of(page.0)).map(|place| place as usize);
        let pages = &mut moved.bytes[..moved.to.len() * self.block_bytes()];
        self.store.move_pages(PageMoves { from: &moved.from, to: &moved.to, replaced, pages }).await?;

        {
            let mut newest = self.newest.borrow_mut();
            if let Some((page, _)) = page {
                newest.is_held(page, holding_slot);
            }
            due.for_each(|slot| newest.is_in_place(BlockId(slot)));
        }
        self.writes.set(write + 1);
        self.look_up(&self.schedule.refreshes(write + 1), &mut moved.from);
        self.store.prefetch(&moved.from);
        self.spare.set(moved);
        Ok(())
    }

    /// Looks up the places of the newest copies of pages.
    fn look_up(&self, pages: &Refreshes, into: &mut Vec<Slot>) {
        let newest = self.newest.borrow();
        into.clear();
        into.extend(pages.clone().map(|page| Slot::only(newest.bucket(BlockId(page)))));
    }
}

impl<S: Store> Oram for DetWoOram<S> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    /// Serves one access after the other. An access that begins while another runs waits for it.
    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        let serve = async |batch: &mut [Access<'_>]| {
            for access in batch {
                match access {
                    Access::Read(page, into) => {
                        let slot = Slot::only(self.newest.borrow().bucket(*page));
                        self.store.read(&[slot], into).await?;
                    }
                    Access::Write(page, from) => self.write(Some((*page, from))).await?,
                    Access::Dummy => self.write(None).await?,
                }
            }
            Ok(())
        };
        self.exclusive.access(self, batch, serve).await
    }

    /// Waits for what the store may have left under way.
    async fn step(&self) -> Result<(), OramError<S::Error>> {
        self.exclusive.step(async || Ok(self.store.finish_moves().await?)).await
    }
}

#[cfg(feature = "inspect")]
impl<S> crate::inspect::Inspect for DetWoOram<S> {
    fn inspect(&self) -> Option<crate::inspect::Inspection> {
        let mut inspection = crate::inspect::newest_copies(&self.newest.borrow());
        inspection.counters.push(("writes", self.writes.get()));
        Some(inspection)
    }
}
