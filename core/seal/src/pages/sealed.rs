//! A region of sealed pages in shared memory.

use super::carrier::{Carrier, Shape};
use super::cipher::{PageCipher, PageId, PageKey};
use super::error::{PageError, RegionError};
use super::memory::SharedMemory;
use super::meter::PageMeter;
#[cfg(feature = "parallel")]
use super::pool::PagePool;
use super::spread::Spread;
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
use ameles_fork::Workers;
use core::cell::RefCell;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use zeroize::{Zeroize, Zeroizing};

/// The bytes between the places that two threads write: processors fetch cache lines in pairs.
const APART: usize = 128;

/// Pages of one batch that there is room for from the start, if the region has so many.
const BATCH_PAGES: usize = 1024;

/// Bytes of shared memory that a region needs: each slot is its page, its tag, and the rest of the cache line.
///
/// # Errors
/// [`RegionError::Uneven`], [`RegionError::TooManySlots`].
pub fn memory_bytes(layout: &Layout, cipher: PageCipher) -> Result<usize, RegionError> {
    Ok(Shape::new(layout, cipher)?.memory_bytes)
}

/// Pages in shared memory, as a scheme's [`Store`].
///
/// The layout's buckets all have the same number of slots, of the same length; mostly one slot, which is one page. A
/// bucket that was never written reads as zeros, and shared memory is not looked at for it: the set of written buckets
/// is public. In a batch that writes a bucket twice, the last stays; the ones before it are not stored.
///
/// A batch of more than 1024 pages, and more than any before it, allocates; [`reserve`](Self::reserve) makes room
/// ahead.
///
/// When a write is refused, nothing has changed. A read that fails changes nothing either.
pub struct SealedPages<M, V> {
    carrier: Carrier<M>,
    spread: Spread,
    state: RefCell<State<V>>,
    /// The turns that were asked of a partner beside the caller.
    asked: Option<RefCell<WorkQueue<M>>>,
}

struct State<V> {
    versions: V,
    /// The places that the pages of the batch under way come from.
    sources: Vec<PageId>,
    /// The pages of the batch under way; `None` for one that a later one of the batch replaces.
    batch: Vec<Option<PageId>>,
    /// The private memory of each thread, where a page is sealed.
    lanes: Vec<Lane>,
    /// The pages that the key may still seal; `None` without a bound.
    pages_left: Option<u64>,
}

/// Room for one sealed page and its tag, with [`APART`] unused bytes before and behind: no cache line of it is shared
/// with another thread's.
type Lane = Zeroizing<Vec<u8>>;

impl<M: SharedMemory, V: Versions> SealedPages<M, V> {
    /// A region in which nothing was ever written. It takes the key for itself: no other region has it.
    ///
    /// # Errors
    /// [`RegionError`].
    pub fn new(memory: M, layout: &Layout, key: PageKey, versions: V) -> Result<Self, RegionError> {
        let cipher = key.cipher();
        let carrier = Carrier::new(memory, layout, key)?;
        let shape = &carrier.shape;
        let (expected, found) = (layout.buckets(), versions.buckets());
        if found != expected {
            return Err(RegionError::OtherVersions { found, expected });
        }
        let state = State {
            versions,
            sources: Vec::with_capacity(BATCH_PAGES.min(shape.memory_bytes / shape.stride)),
            batch: Vec::with_capacity(BATCH_PAGES.min(shape.memory_bytes / shape.stride)),
            lanes: vec![lane(shape)],
            pages_left: cipher.max_pages(shape.page_bytes),
        };
        Ok(SealedPages { carrier, spread: Spread::default(), state: RefCell::new(state), asked: None })
    }

    /// Spreads the pages of a batch over a pool, which several regions may share.
    #[cfg(feature = "parallel")]
    #[must_use]
    pub fn with_pool(mut self, pool: Arc<PagePool>) -> Self {
        self.state.get_mut().lanes.resize_with(pool.threads(), || lane(&self.carrier.shape));
        self.spread = Spread::Pool(pool);
        self
    }

    /// Spreads the pages of a batch over a platform's own processors, which several regions may share.
    #[must_use]
    pub fn with_crew(mut self, workers: &'static dyn Workers) -> Self {
        self.state.get_mut().lanes.resize_with(workers.lanes(), || lane(&self.carrier.shape));
        self.spread = Spread::Workers(workers);
        self
    }

    /// Has pages [carried](Store::carry) by a partner beside, which was given the same key over the same memory.
    #[must_use]
    pub fn with_worker(mut self, beside: Box<dyn PageWorker<M>>, manner: WorkMode) -> Self {
        self.asked = Some(RefCell::new(WorkQueue::new(beside, manner)));
        self
    }

    /// Adds up where the time of sealing and opening goes, but for the work of a partner beside.
    #[must_use]
    pub fn with_meter(mut self, meter: &'static PageMeter) -> Self {
        self.carrier.meter = Some(meter);
        self
    }

    /// Makes room for batches of so many pages: smaller ones allocate nothing.
    pub fn reserve(&mut self, pages: usize) {
        let State { batch, sources, .. } = self.state.get_mut();
        batch.clear();
        batch.reserve(pages);
        sources.clear();
        sources.reserve(pages);
    }

    /// The shared memory.
    pub fn memory(&self) -> &M {
        &self.carrier.memory
    }

    /// The cipher of its pages.
    pub fn cipher(&self) -> PageCipher {
        self.carrier.key.cipher()
    }

    /// Bytes from one slot to the next in shared memory. Slot i, counted through the buckets, begins at i times that.
    pub fn stride(&self) -> usize {
        self.carrier.shape.stride
    }

    /// The newest version of a bucket; 0 if it was never written.
    ///
    /// # Panics
    /// If the bucket lies outside of the layout.
    pub fn version(&self, bucket: Bucket) -> u64 {
        self.state.borrow().versions.newest(bucket)
    }

    /// Trusted memory of the versions, in bytes.
    pub fn trusted_bytes(&self) -> u64 {
        self.state.borrow().versions.trusted_bytes()
    }

    fn load(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), PageError> {
        let (carrier, shape) = (&self.carrier, &self.carrier.shape);
        check_length(into.len(), slots.len() * shape.page_bytes);
        let State { versions, batch, lanes, .. } = &mut *self.state.borrow_mut();
        batch.clear();
        for &slot in slots {
            assert!(slot.index < shape.bucket_slots, "{slot} lies outside of the layout");
            let id = id_of(shape, versions, slot);
            if let Some(asked) = &self.asked {
                asked.borrow_mut().settle(id.slot, carrier).map_err(|id| shape.forged(id))?;
            }
            batch.push(Some(id));
        }
        let first_forged = AtomicUsize::new(usize::MAX);
        let pages = batch.as_slice();
        let first = &first_forged;
        self.spread.each_chunk(into, shape.page_bytes, lanes, move |_, part, page| {
            if pages[part].is_some_and(|id| carrier.open(id, page).is_err()) {
                first.fetch_min(part, Ordering::Relaxed);
            }
        });
        let Some(&Some(id)) = pages.get(first_forged.into_inner()) else {
            return Ok(());
        };
        into.zeroize();
        Err(shape.forged(id))
    }

    fn store(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), PageError> {
        let (carrier, shape) = (&self.carrier, &self.carrier.shape);
        let (page_bytes, count) = (shape.page_bytes, buckets.len() * shape.bucket_slots as usize);
        check_length(from.len(), count * page_bytes);
        let state = &mut *self.state.borrow_mut();
        if let Some(asked) = &self.asked {
            // Earlier turns come first.
            asked.borrow_mut().settle_all(carrier).map_err(|id| shape.forged(id))?;
        }
        self.advance(buckets, state)?;
        let State { versions, batch, lanes, .. } = state;
        for page in batch.iter_mut() {
            *page = page.filter(|id| versions.newest(shape.name(id.slot).bucket) == id.version);
        }
        let pages = batch.as_slice();
        self.spread.each(count, lanes, move |lane, part| {
            if let Some(id) = pages[part] {
                carrier.seal(id, &from[part * page_bytes..][..page_bytes], &mut lane[APART..]);
            }
        });
        Ok(())
    }

    /// Takes the next version of each bucket: the batch then holds the pages to be sealed.
    fn advance(&self, buckets: &[Bucket], state: &mut State<V>) -> Result<(), PageError> {
        let shape = &self.carrier.shape;
        let State { versions, batch, pages_left, .. } = state;
        let cipher = self.cipher();
        let count = buckets.len() as u64 * u64::from(shape.bucket_slots);
        let left = match *pages_left {
            None => None,
            Some(left) => Some(left.checked_sub(count).ok_or(PageError::KeyExhausted { cipher })?),
        };
        batch.clear();
        versions.advance(buckets, |bucket, version| {
            for index in 0..shape.bucket_slots {
                batch.push(Some(PageId { slot: shape.slot(bucket, index), version }));
            }
        })?;
        *pages_left = left;
        Ok(())
    }

    /// Notes the pages to be carried, and where they go.
    fn begin_to_carry(&self, carried: &PageMoves<'_>, state: &mut State<V>) -> Result<(), PageError> {
        let shape = &self.carrier.shape;
        check_length(carried.pages.len(), carried.to.len() * shape.page_bytes);
        // Before the versions go on: a slot may be carried to itself.
        state.sources.clear();
        state.sources.extend(carried.from.iter().map(|slot| id_of(shape, &state.versions, *slot)));
        self.advance(carried.to, state)
    }

    /// Carries as [`Store::carry`] says, by the caller. Each page is opened, sealed and copied out before the next is
    /// looked at.
    fn carry_alone(&self, carried: &PageMoves<'_>) -> Result<(), PageError> {
        let (carrier, shape) = (&self.carrier, &self.carrier.shape);
        let state = &mut *self.state.borrow_mut();
        self.begin_to_carry(carried, state)?;
        let State { sources, batch, lanes, .. } = state;
        let (held, lane) = (&carried.pages[..shape.page_bytes], &mut lanes[0][APART..]);
        let mut ids = batch.iter().flatten();
        carrier.seal(*ids.next().expect("one bucket at least is written"), held, lane);
        for (place, (source, id)) in sources.iter().zip(ids).enumerate() {
            let carried_on = if carried.replaced == Some(place) {
                let opened = carrier.open(*source, &mut lane[..shape.page_bytes]);
                opened.map(|()| carrier.seal(*id, held, lane))
            } else {
                carrier.carry(*source, *id, lane)
            };
            carried_on.map_err(|_| shape.forged(*source))?;
        }
        Ok(())
    }

    /// Carries as [`Store::carry`] says, by the helper beside the caller.
    fn carry_beside(&self, asked: &mut WorkQueue<M>, carried: &PageMoves<'_>) -> Result<(), PageError> {
        let (carrier, shape) = (&self.carrier, &self.carrier.shape);
        let state = &mut *self.state.borrow_mut();
        self.begin_to_carry(carried, state)?;
        let mut ids = state.batch.iter().flatten();
        let first = *ids.next().expect("one bucket at least is written");
        let ask = || {
            let held = asked.seal(first, &carried.pages[..shape.page_bytes], carrier)?;
            for (place, (source, id)) in state.sources.iter().zip(ids).enumerate() {
                let instead = (carried.replaced == Some(place)).then_some(held);
                asked.carry(*source, *id, instead, carrier)?;
            }
            asked.finish(carrier)
        };
        ask().map_err(|id| shape.forged(id))
    }
}

fn id_of(shape: &Shape, versions: &impl Versions, slot: Slot) -> PageId {
    PageId { slot: shape.slot(slot.bucket, slot.index), version: versions.newest(slot.bucket) }
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
        let one_slot = self.carrier.shape.bucket_slots == 1;
        match &self.asked {
            Some(asked) if one_slot && asked.borrow().takes(&carried) => {
                self.carry_beside(&mut asked.borrow_mut(), &carried)
            }
            _ if one_slot && matches!(self.spread, Spread::Alone) => {
                self.finish_moves().await?;
                self.carry_alone(&carried)
            }
            _ => carried.read_then_write(self).await,
        }
    }

    async fn finish_moves(&self) -> Result<(), PageError> {
        match &self.asked {
            Some(asked) => {
                asked.borrow_mut().settle_all(&self.carrier).map_err(|id| self.carrier.shape.forged(id))
            }
            None => Ok(()),
        }
    }

    fn prefetch(&self, from: &[Slot]) {
        let Some(asked) = &self.asked else { return };
        let state = self.state.borrow();
        let from = from.iter().map(|slot| id_of(&self.carrier.shape, &state.versions, *slot));
        // The next request of a caller is told of a page that did not open.
        let _ = asked.borrow_mut().expect(from, &self.carrier);
    }
}

impl<M, V> fmt::Debug for SealedPages<M, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedPages").field("key", &self.carrier.key).finish_non_exhaustive()
    }
}

fn lane(shape: &Shape) -> Lane {
    Zeroizing::new(vec![0; APART + shape.page_bytes + shape.tag_bytes + APART])
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
        pages.state.borrow_mut().pages_left = Some(3);
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
