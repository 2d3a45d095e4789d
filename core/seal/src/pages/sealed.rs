//! A region of sealed pages in shared memory.

use super::cipher::{PageCipher, PageId, PageKey};
use super::error::{PageError, RegionError};
use super::executor::Executor;
use super::memory::SharedMemory;
use super::meter::PageMeter;
#[cfg(feature = "parallel")]
use super::pool::PagePool;
use super::sealed_slots::{SealedSlots, SlotGeometry};
use super::versions::Versions;
use super::worker::{PageWorker, WorkMode, WorkQueue};
use alloc::boxed::Box;
#[cfg(feature = "parallel")]
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use ameles_core::store::{PageMoves, Store};
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Slot};
use ameles_fork_join::Workers;
use core::cell::RefCell;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use zeroize::{Zeroize, Zeroizing};

/// The minimum distance in bytes between two places that different threads write. It is two cache lines, because
/// processors fetch them in pairs.
const CACHE_LINE_PAIR: usize = 128;

/// The pages of a batch for which there is room from the start, if the region has this many.
const BATCH_PAGES: usize = 1024;

/// Returns the bytes of shared memory that a region needs. A slot is its page, its tag, and the rest of the cache line.
///
/// # Errors
/// [`RegionError::Uneven`], [`RegionError::TooManySlots`].
pub fn memory_bytes(layout: &Layout, cipher: PageCipher) -> Result<usize, RegionError> {
    Ok(SlotGeometry::new(layout, cipher)?.memory_bytes())
}

/// Pages in shared memory, as a scheme's [`Store`].
///
/// The buckets of the layout all have the same number of slots, of the same length; mostly one slot, which is one page.
/// A bucket that was never written reads as zeros, without a read of shared memory: the set of written buckets is
/// public. If a batch writes a bucket twice, the last page is stored, and the earlier ones are not.
///
/// A batch of more than 1024 pages that is larger than every earlier batch allocates, unless [`reserve`](Self::reserve)
/// has made room for it.
///
/// A write that is refused and a read that fails change nothing.
pub struct SealedPages<M, V> {
    sealed_slots: SealedSlots<M>,
    executor: Executor,
    state: RefCell<State<V>>,
    /// The jobs that were submitted to a worker.
    work_queue: Option<RefCell<WorkQueue<M>>>,
}

struct State<V> {
    versions: V,
    /// The pages that the current batch moves.
    sources: Vec<PageId>,
    /// The pages of the current batch; `None` for one that a later page of the batch replaces.
    batch: Vec<Option<PageId>>,
    /// The private memory in which each thread seals a page.
    seal_buffers: Vec<SealBuffer>,
    /// The number of pages that the key may still seal; `None` without a bound.
    seals_left: Option<u64>,
}

/// The room for a sealed page and its tag, with [`CACHE_LINE_PAIR`] unused bytes before and after it. So it shares no
/// cache line with another thread's memory.
type SealBuffer = Zeroizing<Vec<u8>>;

impl<M: SharedMemory, V: Versions> SealedPages<M, V> {
    /// Makes a region in which nothing was ever written. It takes the key: no other region has it.
    ///
    /// # Errors
    /// [`RegionError`].
    pub fn new(memory: M, layout: &Layout, key: PageKey, versions: V) -> Result<Self, RegionError> {
        let cipher = key.cipher();
        let sealed_slots = SealedSlots::new(memory, layout, key)?;
        let geometry = &sealed_slots.geometry;
        let (expected, found) = (layout.buckets(), versions.buckets());
        if found != expected {
            return Err(RegionError::OtherVersions { found, expected });
        }
        let state = State {
            versions,
            sources: Vec::with_capacity(BATCH_PAGES.min(geometry.slots)),
            batch: Vec::with_capacity(BATCH_PAGES.min(geometry.slots)),
            seal_buffers: vec![seal_buffer(geometry)],
            seals_left: cipher.max_pages(geometry.page_bytes),
        };
        Ok(SealedPages {
            sealed_slots,
            executor: Executor::default(),
            state: RefCell::new(state),
            work_queue: None,
        })
    }

    /// Spreads the pages of a batch over the threads of a pool, which several regions may share.
    #[cfg(feature = "parallel")]
    #[must_use]
    pub fn with_pool(mut self, pool: Arc<PagePool>) -> Self {
        self.set_executor(pool.threads(), Executor::Pool(pool));
        self
    }

    /// Spreads the pages of a batch over a platform's own processors, which several regions may share.
    #[must_use]
    pub fn with_workers(mut self, workers: &'static dyn Workers) -> Self {
        self.set_executor(workers.lanes(), Executor::Workers(workers));
        self
    }

    fn set_executor(&mut self, lanes: usize, executor: Executor) {
        let seal_buffers = &mut self.state.get_mut().seal_buffers;
        seal_buffers.resize_with(lanes, || seal_buffer(&self.sealed_slots.geometry));
        self.executor = executor;
    }

    /// Has pages [carried](Store::move_pages) by a worker that has the same key over the same memory.
    #[must_use]
    pub fn with_worker(mut self, worker: Box<dyn PageWorker<M>>, mode: WorkMode) -> Self {
        self.work_queue = Some(RefCell::new(WorkQueue::new(worker, mode)));
        self
    }

    /// Adds up the time of sealing and opening, without that of a worker.
    #[must_use]
    pub fn with_meter(mut self, meter: &'static PageMeter) -> Self {
        self.sealed_slots.meter = Some(meter);
        self
    }

    /// Makes room for batches of up to `pages` pages, which then allocate nothing.
    pub fn reserve(&mut self, pages: usize) {
        let State { batch, sources, .. } = self.state.get_mut();
        batch.clear();
        batch.reserve(pages);
        sources.clear();
        sources.reserve(pages);
    }

    /// Returns the shared memory.
    pub fn memory(&self) -> &M {
        &self.sealed_slots.memory
    }

    /// Returns the cipher of the pages.
    pub fn cipher(&self) -> PageCipher {
        self.sealed_slots.key.cipher()
    }

    /// Returns the bytes from one slot to the next in shared memory. Slot i, counted through all buckets, begins at
    /// byte i times that.
    pub fn stride(&self) -> usize {
        self.sealed_slots.geometry.stride
    }

    /// Returns the newest version of a bucket; 0 if it was never written.
    ///
    /// # Panics
    /// If the bucket lies outside of the layout.
    pub fn version(&self, bucket: Bucket) -> u64 {
        self.state.borrow().versions.newest(bucket)
    }

    /// Returns the trusted memory of the versions, in bytes.
    pub fn trusted_bytes(&self) -> u64 {
        self.state.borrow().versions.trusted_bytes()
    }

    fn load(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), PageError> {
        let (sealed_slots, geometry) = (&self.sealed_slots, &self.sealed_slots.geometry);
        check_length(into.len(), slots.len() * geometry.page_bytes);
        let State { versions, batch, seal_buffers, .. } = &mut *self.state.borrow_mut();
        batch.clear();
        for &slot in slots {
            assert!(slot.index < geometry.bucket_slots, "{slot} lies outside of the layout");
            let id = id_of(geometry, versions, slot);
            if let Some(work_queue) = &self.work_queue {
                work_queue.borrow_mut().settle(id.slot, sealed_slots).map_err(|id| geometry.forged(id))?;
            }
            batch.push(Some(id));
        }
        let first_forged = AtomicUsize::new(usize::MAX);
        let pages = batch.as_slice();
        let first = &first_forged;
        self.executor.for_each_chunk(into, geometry.page_bytes, seal_buffers, move |_, part, page| {
            if pages[part].is_some_and(|id| sealed_slots.open(id, page).is_err()) {
                first.fetch_min(part, Ordering::Relaxed);
            }
        });
        let Some(&Some(id)) = pages.get(first_forged.into_inner()) else {
            return Ok(());
        };
        into.zeroize();
        Err(geometry.forged(id))
    }

    fn store(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), PageError> {
        let (sealed_slots, geometry) = (&self.sealed_slots, &self.sealed_slots.geometry);
        let (page_bytes, count) = (geometry.page_bytes, buckets.len() * geometry.bucket_slots as usize);
        check_length(from.len(), count * page_bytes);
        let state = &mut *self.state.borrow_mut();
        if let Some(work_queue) = &self.work_queue {
            // Earlier jobs come first.
            work_queue.borrow_mut().settle_all(sealed_slots).map_err(|id| geometry.forged(id))?;
        }
        self.advance(buckets, state)?;
        let State { versions, batch, seal_buffers, .. } = state;
        for page in batch.iter_mut() {
            *page = page.filter(|id| versions.newest(geometry.slot_name(id.slot).bucket) == id.version);
        }
        let pages = batch.as_slice();
        self.executor.for_each(count, seal_buffers, move |seal_buffer, part| {
            if let Some(id) = pages[part] {
                sealed_slots.seal(
                    id,
                    &from[part * page_bytes..][..page_bytes],
                    &mut seal_buffer[CACHE_LINE_PAIR..],
                );
            }
        });
        Ok(())
    }

    /// Takes the next version of each bucket, and puts the pages to be sealed into the batch.
    fn advance(&self, buckets: &[Bucket], state: &mut State<V>) -> Result<(), PageError> {
        let geometry = &self.sealed_slots.geometry;
        let State { versions, batch, seals_left, .. } = state;
        let cipher = self.cipher();
        let count = buckets.len() as u64 * u64::from(geometry.bucket_slots);
        let left = match *seals_left {
            None => None,
            Some(left) => Some(left.checked_sub(count).ok_or(PageError::KeyExhausted { cipher })?),
        };
        batch.clear();
        versions.advance(buckets, |bucket, version| {
            for index in 0..geometry.bucket_slots {
                batch.push(Some(PageId { slot: geometry.slot(bucket, index), version }));
            }
        })?;
        *seals_left = left;
        Ok(())
    }

    /// Puts the pages to be moved into the sources, and their destinations into the batch.
    fn prepare_move(&self, carried: &PageMoves<'_>, state: &mut State<V>) -> Result<(), PageError> {
        let geometry = &self.sealed_slots.geometry;
        check_length(carried.pages.len(), carried.to.len() * geometry.page_bytes);
        // Before the versions advance: a page may move to its own slot.
        state.sources.clear();
        state.sources.extend(carried.from.iter().map(|slot| id_of(geometry, &state.versions, *slot)));
        self.advance(carried.to, state)
    }

    /// Carries pages as [`Store::move_pages`] says, on the calling thread. Each page is opened, sealed and copied out
    /// before the next one is read.
    fn carry_by_caller(&self, carried: &PageMoves<'_>) -> Result<(), PageError> {
        let (sealed_slots, geometry) = (&self.sealed_slots, &self.sealed_slots.geometry);
        let state = &mut *self.state.borrow_mut();
        self.prepare_move(carried, state)?;
        let State { sources, batch, seal_buffers, .. } = state;
        let (held, seal_buffer) =
            (&carried.pages[..geometry.page_bytes], &mut seal_buffers[0][CACHE_LINE_PAIR..]);
        let mut ids = batch.iter().flatten();
        sealed_slots.seal(*ids.next().expect("one bucket at least is written"), held, seal_buffer);
        for (place, (source, id)) in sources.iter().zip(ids).enumerate() {
            let moved = if carried.replaced == Some(place) {
                let opened = sealed_slots.open(*source, &mut seal_buffer[..geometry.page_bytes]);
                opened.map(|()| sealed_slots.seal(*id, held, seal_buffer))
            } else {
                sealed_slots.move_page(*source, *id, seal_buffer)
            };
            moved.map_err(|_| geometry.forged(*source))?;
        }
        Ok(())
    }

    /// Carries pages as [`Store::move_pages`] says, by jobs for the worker.
    fn carry_by_worker(
        &self,
        work_queue: &mut WorkQueue<M>,
        carried: &PageMoves<'_>,
    ) -> Result<(), PageError> {
        let (sealed_slots, geometry) = (&self.sealed_slots, &self.sealed_slots.geometry);
        let state = &mut *self.state.borrow_mut();
        self.prepare_move(carried, state)?;
        let mut ids = state.batch.iter().flatten();
        let first = *ids.next().expect("one bucket at least is written");
        let submit = || {
            let held = work_queue.seal(first, &carried.pages[..geometry.page_bytes], sealed_slots)?;
            for (place, (source, id)) in state.sources.iter().zip(ids).enumerate() {
                let replacement = (carried.replaced == Some(place)).then_some(held);
                work_queue.move_page(*source, *id, replacement, sealed_slots)?;
            }
            work_queue.finish(sealed_slots)
        };
        submit().map_err(|id| geometry.forged(id))
    }
}

fn id_of(geometry: &SlotGeometry, versions: &impl Versions, slot: Slot) -> PageId {
    PageId { slot: geometry.slot(slot.bucket, slot.index), version: versions.newest(slot.bucket) }
}

impl<M: SharedMemory, V: Versions> Store for SealedPages<M, V> {
    type Error = PageError;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), PageError> {
        self.load(slots, into)
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), PageError> {
        self.store(buckets, from)
    }

    async fn move_pages(&self, carried: PageMoves<'_>) -> Result<(), PageError> {
        let one_slot = self.sealed_slots.geometry.bucket_slots == 1;
        match &self.work_queue {
            Some(work_queue) if one_slot && work_queue.borrow().accepts(&carried) => {
                self.carry_by_worker(&mut work_queue.borrow_mut(), &carried)
            }
            _ if one_slot && matches!(self.executor, Executor::Caller) => {
                self.finish_moves().await?;
                self.carry_by_caller(&carried)
            }
            _ => carried.read_then_write(self).await,
        }
    }

    async fn finish_moves(&self) -> Result<(), PageError> {
        match &self.work_queue {
            Some(work_queue) => work_queue
                .borrow_mut()
                .settle_all(&self.sealed_slots)
                .map_err(|id| self.sealed_slots.geometry.forged(id)),
            None => Ok(()),
        }
    }

    fn prefetch(&self, from: &[Slot]) {
        let Some(work_queue) = &self.work_queue else { return };
        let state = self.state.borrow();
        let from = from.iter().map(|slot| id_of(&self.sealed_slots.geometry, &state.versions, *slot));
        // The caller's next request reports a page that did not open.
        let _ = work_queue.borrow_mut().prefetch(from, &self.sealed_slots);
    }
}

impl<M, V> fmt::Debug for SealedPages<M, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedPages").field("key", &self.sealed_slots.key).finish_non_exhaustive()
    }
}

fn seal_buffer(geometry: &SlotGeometry) -> SealBuffer {
    Zeroizing::new(vec![0; CACHE_LINE_PAIR + geometry.sealed_bytes() + CACHE_LINE_PAIR])
}

fn check_length(given: usize, needed: usize) {
    assert!(given == needed, "a buffer of {given} bytes was given for pages of {needed} bytes together");
}

#[cfg(test)]
mod tests {
    use super::super::memory::AtomicMemory;
    use super::super::versions::TableVersions;
    use super::*;
    use ameles_core::tree::layout::Extent;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn a_key_that_has_sealed_enough_seals_nothing_more_and_its_pages_still_open() {
        let layout = Layout::new(vec![Extent { buckets: 3, slots: 2, slot_bytes: 32 }]);
        let key = PageKey::draw(PageCipher::Aes256Gcm, &mut ChaCha20Rng::seed_from_u64(1));
        let memory = AtomicMemory::new(memory_bytes(&layout, key.cipher()).unwrap());
        let pages = SealedPages::new(memory, &layout, key, TableVersions::new(3)).unwrap();
        let from = [7; 2 * 64];
        pages.store(&[Bucket(0), Bucket(1)], &from).unwrap();
        pages.state.borrow_mut().seals_left = Some(3);
        let exhausted = Err(PageError::KeyExhausted { cipher: PageCipher::Aes256Gcm });
        assert_eq!(pages.store(&[Bucket(0), Bucket(1)], &from), exhausted);
        assert_eq!((pages.version(Bucket(0)), pages.version(Bucket(1))), (1, 1));
        pages.store(&[Bucket(2)], &from[..64]).unwrap();
        assert_eq!(pages.store(&[Bucket(2)], &from[..64]), exhausted);
        let mut into = [0; 32];
        for bucket in (0..3).map(Bucket) {
            pages.load(&[Slot { bucket, index: 1 }], &mut into).unwrap();
            assert_eq!(into, [7; 32]);
        }
    }
}
