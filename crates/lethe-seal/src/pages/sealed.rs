//! A region of sealed pages in shared memory.

use super::cipher::{MOST_TAG_BYTES, PageCipher, PageId, PageKey};
use super::error::{PageError, RegionError};
use super::memory::SharedMemory;
#[cfg(feature = "parallel")]
use super::pool::PagePool;
use super::spread::Spread;
use super::versions::Versions;
use crate::cipher::Forged;
#[cfg(feature = "parallel")]
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use lethe_core::layout::Layout;
use lethe_core::store::Store;
use lethe_core::words::{Bucket, Slot};
use zeroize::{Zeroize, Zeroizing};

/// Slots begin at multiples of this many bytes, so that copies run along cache lines.
const ALIGNMENT: usize = 64;

/// Bytes between what two threads write: processors fetch cache lines in pairs.
const APART: usize = 128;

/// Pages of one batch that there is room for from the start, if the region has so many.
const BATCH_PAGES: usize = 1024;

/// Bytes of shared memory that a region needs: each slot is its page, its tag, and what is left of the cache line.
///
/// # Errors
/// [`RegionError::Uneven`], [`RegionError::TooManySlots`].
pub fn memory_bytes(layout: &Layout, cipher: PageCipher) -> Result<usize, RegionError> {
    Ok(Shape::new(layout, cipher)?.memory_bytes)
}

/// Pages in shared memory, as a scheme's [`Store`].
///
/// The layout's buckets all have the same number of slots, of the same length; mostly one slot, which is one page. A
/// bucket that was never written reads as zeros, and shared memory is not looked at for it: which buckets were written
/// is public. In a batch that writes a bucket twice, the last stays; the ones before it are not stored.
///
/// A batch of more than 1024 pages, and more than any before it, allocates; [`reserve`](Self::reserve) makes room ahead.
///
/// When a write is refused, nothing has changed. A read that fails changes nothing either.
pub struct SealedPages<M, V> {
    memory: M,
    key: PageKey,
    shape: Shape,
    spread: Spread,
    state: RefCell<State<V>>,
}

struct State<V> {
    versions: V,
    /// The pages of the batch under way; `None` for one that a later one of the batch replaces.
    batch: Vec<Option<PageId>>,
    /// For each thread, private memory where a page is sealed.
    lanes: Vec<Lane>,
    /// What the key may still seal; `None` without a bound.
    pages_left: Option<u64>,
}

/// Room for one sealed page and its tag, with [`APART`] unused bytes before and behind: no cache line of it is shared
/// with another thread's.
type Lane = Zeroizing<Vec<u8>>;

#[derive(Clone, Copy)]
struct Shape {
    page_bytes: usize,
    tag_bytes: usize,
    /// From one slot to the next.
    stride: usize,
    bucket_slots: u32,
    memory_bytes: usize,
}

impl Shape {
    fn new(layout: &Layout, cipher: PageCipher) -> Result<Self, RegionError> {
        let first = layout.extents().first().ok_or(RegionError::Uneven)?;
        let (bucket_slots, slot_bytes) = (first.slots, first.slot_bytes);
        let even = layout.extents().iter().all(|e| (e.slots, e.slot_bytes) == (bucket_slots, slot_bytes));
        if !even || bucket_slots == 0 || slot_bytes == 0 {
            return Err(RegionError::Uneven);
        }
        let slots = layout.slots();
        let too_many = RegionError::TooManySlots { slots };
        let page_bytes = usize::try_from(slot_bytes).map_err(|_| too_many)?;
        let tag_bytes = cipher.tag_bytes();
        let stride = (page_bytes.checked_add(tag_bytes))
            .and_then(|bytes| bytes.checked_next_multiple_of(ALIGNMENT))
            .ok_or(too_many)?;
        let slots = usize::try_from(slots).ok().filter(|_| slots <= 1 << 32).ok_or(too_many)?;
        let memory_bytes = slots.checked_mul(stride).ok_or(too_many)?;
        Ok(Shape { page_bytes, tag_bytes, stride, bucket_slots, memory_bytes })
    }

    /// The number of a slot in the region. `Versions` has looked whether the bucket is there.
    fn slot(&self, bucket: Bucket, index: u32) -> u32 {
        (bucket.0 * u64::from(self.bucket_slots)) as u32 + index
    }

    fn name(&self, slot: u32) -> Slot {
        Slot { bucket: Bucket(u64::from(slot / self.bucket_slots)), index: slot % self.bucket_slots }
    }

    fn at(&self, id: PageId) -> usize {
        id.slot as usize * self.stride
    }
}

impl<M: SharedMemory, V: Versions> SealedPages<M, V> {
    /// A region in which nothing was ever written. It takes the key for itself: no other region has it.
    ///
    /// # Errors
    /// [`RegionError`].
    pub fn new(memory: M, layout: &Layout, key: PageKey, versions: V) -> Result<Self, RegionError> {
        let shape = Shape::new(layout, key.cipher())?;
        let (needed, found) = (shape.memory_bytes, memory.bytes());
        if found < needed {
            return Err(RegionError::MemoryTooSmall { needed, found });
        }
        let (expected, found) = (layout.buckets(), versions.buckets());
        if found != expected {
            return Err(RegionError::OtherVersions { found, expected });
        }
        let state = State {
            versions,
            batch: Vec::with_capacity(BATCH_PAGES.min(shape.memory_bytes / shape.stride)),
            lanes: vec![lane(&shape)],
            pages_left: key.cipher().most_pages(shape.page_bytes),
        };
        Ok(SealedPages { memory, key, shape, spread: Spread::default(), state: RefCell::new(state) })
    }

    /// Spreads the pages of a batch over a pool, which several regions may share.
    #[cfg(feature = "parallel")]
    #[must_use]
    pub fn with_pool(mut self, pool: Arc<PagePool>) -> Self {
        self.state.get_mut().lanes.resize_with(pool.threads(), || lane(&self.shape));
        self.spread.pool = Some(pool);
        self
    }

    /// Makes room for batches of so many pages: smaller ones allocate nothing.
    pub fn reserve(&mut self, pages: usize) {
        let batch = &mut self.state.get_mut().batch;
        batch.clear();
        batch.reserve(pages);
    }

    /// The shared memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The cipher of its pages.
    pub fn cipher(&self) -> PageCipher {
        self.key.cipher()
    }

    /// Bytes from one slot to the next in shared memory. Slot i, counted through the buckets, begins at i times that.
    pub fn stride(&self) -> usize {
        self.shape.stride
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

    fn crossing(&self) -> Crossing<'_, M> {
        Crossing { memory: &self.memory, key: &self.key, shape: self.shape }
    }

    fn load(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), PageError> {
        let page_bytes = self.shape.page_bytes;
        check_length(into.len(), slots.len() * page_bytes);
        let State { versions, batch, lanes, .. } = &mut *self.state.borrow_mut();
        batch.clear();
        for &slot in slots {
            assert!(slot.index < self.shape.bucket_slots, "{slot} lies outside of the layout");
            let version = versions.newest(slot.bucket);
            batch.push(Some(PageId { slot: self.shape.slot(slot.bucket, slot.index), version }));
        }
        let first_forged = AtomicUsize::new(usize::MAX);
        let (crossing, pages) = (self.crossing(), batch.as_slice());
        let first = &first_forged;
        self.spread.each_chunk(into, page_bytes, lanes, move |_, part, page| {
            match pages[part].filter(|id| id.version != 0) {
                None => page.fill(0),
                Some(id) => {
                    if crossing.open(id, page).is_err() {
                        first.fetch_min(part, Ordering::Relaxed);
                    }
                }
            }
        });
        let Some(&Some(PageId { slot, version })) = pages.get(first_forged.into_inner()) else {
            return Ok(());
        };
        into.zeroize();
        Err(PageError::Forged { slot: self.shape.name(slot), version })
    }

    fn store(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), PageError> {
        let Shape { page_bytes, bucket_slots, .. } = self.shape;
        let count = buckets.len() * bucket_slots as usize;
        check_length(from.len(), count * page_bytes);
        let State { versions, batch, lanes, pages_left } = &mut *self.state.borrow_mut();
        let cipher = self.key.cipher();
        let left = match *pages_left {
            None => None,
            Some(left) => Some(left.checked_sub(count as u64).ok_or(PageError::KeyExhausted { cipher })?),
        };
        batch.clear();
        versions.advance(buckets, |bucket, version| {
            for index in 0..bucket_slots {
                batch.push(Some(PageId { slot: self.shape.slot(bucket, index), version }));
            }
        })?;
        *pages_left = left;
        for page in batch.iter_mut() {
            *page = page.filter(|id| versions.newest(self.shape.name(id.slot).bucket) == id.version);
        }
        let (crossing, pages) = (self.crossing(), batch.as_slice());
        self.spread.each(count, lanes, move |lane, part| {
            if let Some(id) = pages[part] {
                crossing.seal(id, &from[part * page_bytes..][..page_bytes], lane);
            }
        });
        Ok(())
    }
}

impl<M: SharedMemory, V: Versions> Store for SealedPages<M, V> {
    type Error = PageError;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), PageError> {
        self.load(slots, into)
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), PageError> {
        self.store(buckets, from)
    }
}

impl<M, V> fmt::Debug for SealedPages<M, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedPages").field("key", &self.key).finish_non_exhaustive()
    }
}

/// What a thread needs to bring a page from one side to the other. All that touches shared memory is here.
struct Crossing<'a, M> {
    memory: &'a M,
    key: &'a PageKey,
    shape: Shape,
}

impl<M: SharedMemory> Crossing<'_, M> {
    /// Copies a sealed page into `page`, and opens it there.
    fn open(&self, id: PageId, page: &mut [u8]) -> Result<(), Forged> {
        let at = self.shape.at(id);
        let mut tag = [0; MOST_TAG_BYTES];
        let tag = &mut tag[..self.shape.tag_bytes];
        self.memory.load(at, page);
        self.memory.load(at + page.len(), tag);
        self.key.open(id, page, tag)
    }

    /// Seals a page in `lane`, and copies it out.
    fn seal(&self, id: PageId, page: &[u8], lane: &mut [u8]) {
        let lane = &mut lane[APART..][..self.shape.page_bytes + self.shape.tag_bytes];
        let (sealed, tag) = lane.split_at_mut(page.len());
        sealed.copy_from_slice(page);
        self.key.seal(id, sealed, tag);
        self.memory.store(self.shape.at(id), lane);
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
    use lethe_core::layout::Extent;
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
