//! The slots of a region in shared memory. All code that touches shared memory is here.

use super::cipher::{MAX_TAG_BYTES, PageCipher, PageId, PageKey};
use super::error::{PageError, RegionError};
use super::memory::SharedMemory;
use super::meter::{PageMeter, StepTimer};
use crate::cipher::Forged;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Slot};

/// The bytes of which each slot's offset is a multiple, so that copies run along cache lines.
const ALIGNMENT: usize = 64;

/// The slots of a region in shared memory, with the region's key.
#[derive(Debug)]
pub struct SealedSlots<M> {
    pub(crate) memory: M,
    pub(crate) key: PageKey,
    pub(crate) geometry: SlotGeometry,
    pub(crate) meter: Option<&'static PageMeter>,
}

impl<M: SharedMemory> SealedSlots<M> {
    /// Makes the slots of a region of this layout.
    ///
    /// # Errors
    /// [`RegionError`].
    pub fn new(memory: M, layout: &Layout, key: PageKey) -> Result<Self, RegionError> {
        let geometry = SlotGeometry::new(layout, key.cipher())?;
        let (needed, found) = (geometry.memory_bytes(), memory.bytes());
        if found < needed {
            return Err(RegionError::MemoryTooSmall { needed, found });
        }
        Ok(SealedSlots { memory, key, geometry, meter: None })
    }

    /// Adds up the time of sealing and opening.
    #[must_use]
    pub fn with_meter(mut self, meter: &'static PageMeter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Returns the bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.geometry.page_bytes
    }

    /// Returns the bytes of a page with its tag: the scratch that [`seal`](Self::seal) needs.
    pub fn sealed_bytes(&self) -> usize {
        self.geometry.sealed_bytes()
    }

    /// Copies a sealed page into `page`, and opens it there. A page that was never written (version 0) reads as
    /// zeros; shared memory is not read.
    ///
    /// # Errors
    /// [`Forged`]: `page` is then overwritten.
    pub fn open(&self, id: PageId, page: &mut [u8]) -> Result<(), Forged> {
        if id.version == 0 {
            page.fill(0);
            return Ok(());
        }
        let at = self.geometry.offset(id);
        let mut tag = [0; MAX_TAG_BYTES];
        let tag = &mut tag[..self.geometry.tag_bytes];
        let mut timer = StepTimer::begin(self.meter);
        self.memory.load(at, page);
        self.memory.load(at + page.len(), tag);
        timer.end_copy();
        let opened = self.key.open(id, page, tag);
        timer.end_cipher();
        opened
    }

    /// Copies a page to `scratch`, which is private memory, seals it there, and copies the result to shared memory.
    pub fn seal(&self, id: PageId, page: &[u8], scratch: &mut [u8]) {
        let mut timer = StepTimer::begin(self.meter);
        scratch[..page.len()].copy_from_slice(page);
        timer.end_copy();
        self.seal_in_place(id, scratch);
        self.store(id, scratch);
    }

    /// Opens a page in `scratch`, which is private, seals it there again, and copies it to shared memory.
    ///
    /// # Errors
    /// [`Forged`]; in this case nothing was copied.
    pub fn move_page(&self, from: PageId, to: PageId, scratch: &mut [u8]) -> Result<(), Forged> {
        self.open(from, &mut scratch[..self.geometry.page_bytes])?;
        self.seal_in_place(to, scratch);
        self.store(to, scratch);
        Ok(())
    }

    /// Seals the page at the beginning of `scratch` in place, and puts its tag behind it. Nothing is copied.
    pub fn seal_in_place(&self, id: PageId, scratch: &mut [u8]) {
        let (page, tag) = scratch[..self.sealed_bytes()].split_at_mut(self.geometry.page_bytes);
        let mut timer = StepTimer::begin(self.meter);
        self.key.seal(id, page, tag);
        timer.end_cipher();
    }

    /// Copies a page that was sealed in `scratch`, with its tag, to shared memory.
    pub fn store(&self, id: PageId, scratch: &[u8]) {
        let mut timer = StepTimer::begin(self.meter);
        self.memory.store(self.geometry.offset(id), &scratch[..self.sealed_bytes()]);
        timer.end_copy();
    }
}

/// The sizes and offsets of the slots of a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotGeometry {
    pub(crate) page_bytes: usize,
    tag_bytes: usize,
    /// The bytes from one slot to the next.
    pub(crate) stride: usize,
    pub(crate) slots: usize,
    pub(crate) bucket_slots: u32,
}

impl SlotGeometry {
    pub(crate) fn new(layout: &Layout, cipher: PageCipher) -> Result<Self, RegionError> {
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
        // `memory_bytes` does not overflow.
        slots.checked_mul(stride).ok_or(too_many)?;
        Ok(SlotGeometry { page_bytes, tag_bytes, stride, slots, bucket_slots })
    }

    /// Returns the bytes of a page with its tag.
    pub(crate) fn sealed_bytes(&self) -> usize {
        self.page_bytes + self.tag_bytes
    }

    /// Returns the bytes of all slots.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.slots * self.stride
    }

    /// Returns the number of a slot in the region. `Versions` has checked that the bucket exists.
    pub(crate) fn slot(&self, bucket: Bucket, index: u32) -> u32 {
        (bucket.0 * u64::from(self.bucket_slots)) as u32 + index
    }

    pub(crate) fn slot_name(&self, slot: u32) -> Slot {
        Slot { bucket: Bucket(u64::from(slot / self.bucket_slots)), index: slot % self.bucket_slots }
    }

    pub(crate) fn forged(&self, id: PageId) -> PageError {
        PageError::Forged { slot: self.slot_name(id.slot), version: id.version }
    }

    fn offset(&self, id: PageId) -> usize {
        id.slot as usize * self.stride
    }
}
