//! Private memory: what holds pages in the clear.
#![allow(unsafe_code, reason = "mappings; each block says why it is sound")]

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MlockFlags, MprotectFlags, ProtFlags};
use std::ptr;

/// Anonymous memory that is kept out of core dumps, of children after `fork`, and, where the limit on locked memory
/// allows it, out of swap. Nothing is resident before it is touched. Between its two parts lies a page that faults.
pub(crate) struct PrivateMapping {
    start: *mut u8,
    first_bytes: usize,
    second_at: usize,
    bytes: usize,
    locked: bool,
}

// SAFETY: it is an address range; whoever follows the addresses argues for it.
unsafe impl Send for PrivateMapping {}
// SAFETY: as above.
unsafe impl Sync for PrivateMapping {}

impl PrivateMapping {
    /// Two parts, in bytes: whole pages.
    pub(crate) fn new(first_bytes: usize, second_bytes: usize, page_bytes: usize) -> Result<Self, Errno> {
        let second_at = first_bytes.checked_add(page_bytes).ok_or(Errno::NOMEM)?;
        let bytes = second_at.checked_add(second_bytes).ok_or(Errno::NOMEM)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let start = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags)?
        };
        let mut mapping =
            PrivateMapping { start: start.cast(), first_bytes, second_at, bytes, locked: false };
        // SAFETY: the guard lies within the new mapping.
        unsafe { rustix::mm::mprotect(mapping.at(first_bytes).cast(), page_bytes, MprotectFlags::empty())? };
        for advice in [Advice::LinuxDontDump, Advice::LinuxDontFork, Advice::LinuxNoHugepage] {
            // SAFETY: the advice loses no contents, and the mapping is new.
            match unsafe { rustix::mm::madvise(start, bytes, advice) } {
                // A kernel without huge pages does not know the last one.
                Err(Errno::INVAL) if advice == Advice::LinuxNoHugepage => {}
                other => other?,
            }
        }
        mapping.locked = mapping.lock();
        Ok(mapping)
    }

    /// Both parts or none: pages move between them.
    fn lock(&self) -> bool {
        let parts = [(self.start, self.first_bytes), (self.at(self.second_at), self.bytes - self.second_at)];
        // SAFETY: locking changes no contents.
        let lock = |(start, bytes): (*mut u8, usize)| unsafe {
            rustix::mm::mlock_with(start.cast(), bytes, MlockFlags::ONFAULT)
        };
        let locked = parts.into_iter().all(|part| lock(part).is_ok());
        if !locked {
            for (start, bytes) in parts {
                // SAFETY: as above. What was not locked need not be unlocked.
                let _ = unsafe { rustix::mm::munlock(start.cast(), bytes) };
            }
        }
        locked
    }

    pub(crate) fn first(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn first_bytes(&self) -> usize {
        self.first_bytes
    }

    pub(crate) fn second(&self) -> *mut u8 {
        self.at(self.second_at)
    }

    pub(crate) fn second_bytes(&self) -> usize {
        self.bytes - self.second_at
    }

    /// Whether it is kept out of swap.
    pub(crate) fn is_locked(&self) -> bool {
        self.locked
    }

    fn at(&self, offset: usize) -> *mut u8 {
        self.start.wrapping_add(offset)
    }
}

impl Drop for PrivateMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; whoever had addresses in it borrowed it.
        let unmapped = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}
