//! The carrier of a page from one side to the other. All code that touches shared memory is here.

use super::cipher::{MAX_TAG_BYTES, PageCipher, PageId, PageKey};
use super::error::{PageError, RegionError};
use super::memory::SharedMemory;
use super::meter::{PageMeter, Steps};
use crate::cipher::Forged;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Slot};

/// Slots begin at multiples of this many bytes, so that copies run along cache lines.
const ALIGNMENT: usize = 64;

/// A region's key and its slots, over its shared memory.
#[derive(Debug)]
pub struct Carrier<M> {
    pub(crate) memory: M,
    pub(crate) key: PageKey,
    pub(crate) shape: Shape,
    pub(crate) meter: Option<&'static PageMeter>,
}

impl<M: SharedMemory> Carrier<M> {
    /// Makes the carrier of a region of this layout.
    ///
    /// # Errors
    /// [`RegionError`].
    pub fn new(memory: M, layout: &Layout, key: PageKey) -> Result<Self, RegionError> {
        let shape = Shape::new(layout, key.cipher())?;
        let (needed, found) = (shape.memory_bytes, memory.bytes());
        if found < needed {
            return Err(RegionError::MemoryTooSmall { needed, found });
        }
        Ok(Carrier { memory, key, shape, meter: None })
    }

    /// Adds up where the time of sealing and opening goes.
    #[must_use]
    pub fn with_meter(mut self, meter: &'static PageMeter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.shape.page_bytes
    }

    /// Bytes of a page with its tag: the scratch that [`seal`](Self::seal) needs.
    pub fn sealed_bytes(&self) -> usize {
        self.shape.page_bytes + self.shape.tag_bytes
    }

    /// Copies a sealed page into `page`, and opens it there. Zeros, if it was never written (version 0): shared memory
    /// is not looked at then.
    ///
    /// # Errors
    /// [`Forged`]; the page is wiped then.
    pub fn open(&self, id: PageId, page: &mut [u8]) -> Result<(), Forged> {
        if id.version == 0 {
            page.fill(0);
            return Ok(());
        }
        let at = self.shape.at(id);
        let mut tag = [0; MAX_TAG_BYTES];
        let tag = &mut tag[..self.shape.tag_bytes];
        let mut steps = Steps::begin(self.meter);
        self.memory.load(at, page);
        self.memory.load(at + page.len(), tag);
        steps.copied();
        let opened = self.key.open(id, page, tag);
        steps.ciphered();
        opened
    }

    /// Seals a page in `scratch`, which is private, and copies it out.
    pub fn seal(&self, id: PageId, page: &[u8], scratch: &mut [u8]) {
        let mut steps = Steps::begin(self.meter);
        scratch[..page.len()].copy_from_slice(page);
        steps.copied();
        self.seal_in_place(id, scratch);
        self.copy_out(id, scratch);
    }

    /// Opens a page in `scratch`, which is private, seals it there anew, and copies it out.
    ///
    /// # Errors
    /// [`Forged`]; nothing was copied out then.
    pub fn carry(&self, from: PageId, to: PageId, scratch: &mut [u8]) -> Result<(), Forged> {
        self.open(from, &mut scratch[..self.shape.page_bytes])?;
        self.seal_in_place(to, scratch);
        self.copy_out(to, scratch);
        Ok(())
    }

    /// Seals the page at the beginning of `scratch` there, and puts its tag behind it. Nothing is copied out.
    pub fn seal_in_place(&self, id: PageId, scratch: &mut [u8]) {
        let (page, tag) = scratch[..self.sealed_bytes()].split_at_mut(self.shape.page_bytes);
        let mut steps = Steps::begin(self.meter);
        self.key.seal(id, page, tag);
        steps.ciphered();
    }

    /// Copies a page that was sealed in `scratch` out, with its tag.
    pub fn copy_out(&self, id: PageId, scratch: &[u8]) {
        let mut steps = Steps::begin(self.meter);
        self.memory.store(self.shape.at(id), &scratch[..self.sealed_bytes()]);
        steps.copied();
    }
}

/// The places of the slots of a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) page_bytes: usize,
    pub(crate) tag_bytes: usize,
    /// The bytes from one slot to the next.
    pub(crate) stride: usize,
    pub(crate) bucket_slots: u32,
    pub(crate) memory_bytes: usize,
}

impl Shape {
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
        let memory_bytes = slots.checked_mul(stride).ok_or(too_many)?;
        Ok(Shape { page_bytes, tag_bytes, stride, bucket_slots, memory_bytes })
    }

    /// The number of a slot in the region. `Versions` has looked whether the bucket is there.
    pub(crate) fn slot(&self, bucket: Bucket, index: u32) -> u32 {
        (bucket.0 * u64::from(self.bucket_slots)) as u32 + index
    }

    pub(crate) fn name(&self, slot: u32) -> Slot {
        Slot { bucket: Bucket(u64::from(slot / self.bucket_slots)), index: slot % self.bucket_slots }
    }

    pub(crate) fn forged(&self, id: PageId) -> PageError {
        PageError::Forged { slot: self.name(id.slot), version: id.version }
    }

    fn at(&self, id: PageId) -> usize {
        id.slot as usize * self.stride
    }
}
