//! Reusable buffers for requests in flight, so that a request allocates nothing in the long run.

use crate::batch::Batch;
use alloc::vec::Vec;
use ameles_core::buffer_pool::best_fit;
use ameles_core::store::{BucketVersion, Place};
use core::cell::RefCell;
use core::ops::{Deref, DerefMut};

/// The number of buffers kept for reuse. More requests than this in flight allocate theirs.
const MAX_IDLE: usize = 16;

/// The buffers that a request needs while it is in flight.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) batch: Batch,
    pub(crate) places: Vec<Place>,
    pub(crate) buckets: Vec<BucketVersion>,
    sealed: Vec<u8>,
}

impl Scratch {
    /// The batch, and a private buffer as long as its sealed bytes. The buffer holds arbitrary bytes.
    pub(crate) fn parts(&mut self) -> (&Batch, &[Place], &[BucketVersion], &mut [u8]) {
        let bytes = self.batch.sealed_bytes();
        if self.sealed.len() < bytes {
            self.sealed.resize(bytes, 0);
        }
        (&self.batch, &self.places, &self.buckets, &mut self.sealed[..bytes])
    }
}

/// The unused buffers.
#[derive(Default)]
pub(crate) struct Scratches {
    idle: RefCell<Vec<Scratch>>,
}

impl Scratches {
    /// Buffers for a request that moves about this many bytes.
    pub(crate) fn take(&self, bytes: usize) -> Borrowed<'_> {
        let mut idle = self.idle.borrow_mut();
        let best = best_fit(idle.iter().map(|scratch| scratch.sealed.capacity()), bytes);
        let mut scratch = best.map(|at| idle.swap_remove(at)).unwrap_or_default();
        scratch.batch.clear();
        scratch.places.clear();
        scratch.buckets.clear();
        Borrowed { scratch, home: self }
    }
}

/// A scratch that is returned when it is dropped, also with its request's future.
pub(crate) struct Borrowed<'a> {
    scratch: Scratch,
    home: &'a Scratches,
}

impl Deref for Borrowed<'_> {
    type Target = Scratch;
    fn deref(&self) -> &Scratch {
        &self.scratch
    }
}

impl DerefMut for Borrowed<'_> {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let mut idle = self.home.idle.borrow_mut();
        if idle.len() < MAX_IDLE {
            idle.push(core::mem::take(&mut self.scratch));
        }
    }
}
