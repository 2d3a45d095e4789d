//! Untrusted memory: the host sees it and changes it at any time.

use super::copy::copy_once;
use ameles_enclave_boundary::map::{
    DATA_OFFSET, EXIT_OFFSET, MAX_DATA_BYTES, MAX_EXIT_BYTES, PAGES_OFFSET, UNTRUSTED_START,
};
use ameles_seal::pages::SharedMemory;
use core::sync::atomic::{AtomicU64, Ordering, fence};

const _: () = assert!(
    DATA_OFFSET + MAX_DATA_BYTES as u64 <= PAGES_OFFSET && EXIT_OFFSET + MAX_EXIT_BYTES <= DATA_OFFSET
);

fn pointer(at: u64) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut((UNTRUSTED_START + at) as usize)
}

/// Copies bytes into the mailbox, which is the part of untrusted memory before the sealed pages.
pub(super) fn write(at: u64, from: &[u8]) {
    assert!(at + from.len() as u64 <= PAGES_OFFSET, "the mailbox ends before the pages");
    // SAFETY: untrusted memory is mapped from its first byte to the end of the mailbox, and not part of `from`.
    unsafe { copy_once(pointer(at), from.as_ptr(), from.len()) };
}

/// Copies bytes out of the mailbox, each byte once.
pub(super) fn read(at: u64, into: &mut [u8]) {
    assert!(at + into.len() as u64 <= PAGES_OFFSET, "the mailbox ends before the pages");
    // SAFETY: as above.
    unsafe { copy_once(into.as_mut_ptr(), pointer(at), into.len()) };
}

fn word(at: u64) -> &'static AtomicU64 {
    assert!(at + 8 <= PAGES_OFFSET && at.is_multiple_of(8), "a word of the mailbox");
    // SAFETY: the memory is always mapped, and is aligned; all other uses of the word are atomic.
    unsafe { AtomicU64::from_ptr(pointer(at).cast()) }
}

/// Stores a word, after all earlier stores.
pub(super) fn write_word(at: u64, value: u64) {
    fence(Ordering::SeqCst);
    word(at).store(value.to_le(), Ordering::Release);
}

/// Loads a word, before all later loads.
pub(super) fn read_word(at: u64) -> u64 {
    u64::from_le(word(at).load(Ordering::Acquire))
}

/// The part of untrusted memory for sealed pages.
pub(super) struct SealedPart {
    bytes: usize,
}

impl SealedPart {
    /// Takes the first bytes of the sealed pages' memory.
    ///
    /// # Safety
    /// The machine has this many bytes of it.
    pub(super) unsafe fn new(bytes: usize) -> Self {
        SealedPart { bytes }
    }

    fn pointer(&self, at: usize, len: usize) -> *mut u8 {
        assert!(at <= self.bytes && len <= self.bytes - at, "a copy beyond the sealed pages");
        pointer(PAGES_OFFSET).wrapping_add(at)
    }
}

impl SharedMemory for SealedPart {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn load(&self, at: usize, into: &mut [u8]) {
        // SAFETY: the range belongs to untrusted memory, and is not part of `into`.
        unsafe { copy_once(into.as_mut_ptr(), self.pointer(at, into.len()), into.len()) };
    }

    fn store(&self, at: usize, from: &[u8]) {
        // SAFETY: as above.
        unsafe { copy_once(self.pointer(at, from.len()), from.as_ptr(), from.len()) };
    }
}
