//! The private page buffer of a side that runs page jobs.

use crate::page::PAGE_BYTES;
use ameles_seal::pages::{MAX_TAG_BYTES, Ticket};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use zeroize::Zeroize;

/// The room for a page with its tag. Each side that runs jobs has its own.
#[repr(C)]
pub(super) struct Scratch {
    /// The job whose sealed page is here. It is set before any byte of that page is copied to shared memory.
    sealed: AtomicU64,
    pub(super) bytes: [u8; PAGE_BYTES + MAX_TAG_BYTES],
}

impl Scratch {
    pub(super) const fn new() -> Self {
        Scratch { sealed: AtomicU64::new(0), bytes: [0; PAGE_BYTES + MAX_TAG_BYTES] }
    }

    pub(super) fn page(&mut self) -> &mut [u8] {
        &mut self.bytes[..PAGE_BYTES]
    }

    /// Records the job whose sealed page is here. A side that ends before this has copied nothing of it to shared
    /// memory. A side that ends afterwards may have copied all of it, a part or nothing.
    pub(super) fn mark_sealed(&self, ticket: Ticket) {
        self.sealed.store(ticket, Ordering::Release);
        fence(Ordering::Release);
    }

    pub(super) fn holds_sealed(&self, ticket: Ticket) -> bool {
        self.sealed.load(Ordering::Acquire) == ticket
    }

    pub(super) fn wipe(&mut self) {
        self.bytes.zeroize();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.wipe();
    }
}
