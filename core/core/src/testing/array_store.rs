//! Untrusted memory that is a plain array. Nothing is recorded, sealed or allocated, so a test or a bench over it
//! measures the scheme alone.

use crate::store::Store;
use crate::tree::layout::Layout;
use crate::types::{Bucket, Slot};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::convert::Infallible;

/// Buckets of one slot each, all of one size. They begin as zeros; an access allocates nothing.
pub struct ArrayStore {
    bucket_bytes: usize,
    buckets: RefCell<Vec<u8>>,
}

impl ArrayStore {
    /// Makes a store of zeros with the given layout.
    ///
    /// # Panics
    /// If a bucket has several slots, or buckets differ in size.
    pub fn new(layout: &Layout) -> Self {
        let extents = layout.extents();
        let slot_bytes = extents.first().map_or(0, |extent| extent.slot_bytes);
        let even = extents.iter().all(|extent| (extent.slots, extent.slot_bytes) == (1, slot_bytes));
        assert!(even, "every bucket is one slot of the same size");
        ArrayStore {
            bucket_bytes: slot_bytes as usize,
            buckets: RefCell::new(vec![0; layout.bytes().0 as usize]),
        }
    }

    fn at(&self, bucket: Bucket) -> core::ops::Range<usize> {
        let start = bucket.0 as usize * self.bucket_bytes;
        start..start + self.bucket_bytes
    }
}

impl Store for ArrayStore {
    type Error = Infallible;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Infallible> {
        let buckets = self.buckets.borrow();
        for (slot, into) in slots.iter().zip(into.chunks_exact_mut(self.bucket_bytes)) {
            into.copy_from_slice(&buckets[self.at(slot.bucket)]);
        }
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), Infallible> {
        let mut all = self.buckets.borrow_mut();
        for (bucket, from) in buckets.iter().zip(from.chunks_exact(self.bucket_bytes)) {
            all[self.at(*bucket)].copy_from_slice(from);
        }
        Ok(())
    }
}
