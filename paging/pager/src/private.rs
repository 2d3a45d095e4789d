//! Private memory, for unencrypted pages.
#![allow(unsafe_code, reason = "mappings; each block says why it is sound")]

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MlockFlags, MprotectFlags, ProtFlags};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Anonymous memory that is kept out of core dumps, of children after `fork`, and, where the limit on locked memory
/// allows it, out of swap. Nothing is resident before its first access. Between its two parts is a guard page.
pub(crate) struct PrivateMapping {
    start: *mut u8,
    first_bytes: usize,
    second_at: usize,
    bytes: usize,
    locked: AtomicBool,
}

// SAFETY: it is an address range; each block that dereferences its addresses argues for that.
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
        let locked = AtomicBool::new(false);
        let mapping = PrivateMapping { start: start.cast(), first_bytes, second_at, bytes, locked };
        // SAFETY: the guard lies within the new mapping.
        unsafe { rustix::mm::mprotect(mapping.at(first_bytes).cast(), page_bytes, MprotectFlags::empty())? };
        // SAFETY: the mapping is new.
        unsafe { guard(start, bytes)? };
        mapping.lock();
        Ok(mapping)
    }

    /// Lets children have a copy at `fork`, from now on.
    pub(crate) fn share_with_children(&self) -> Result<(), Errno> {
        // SAFETY: the advice loses no contents.
        unsafe { rustix::mm::madvise(self.start.cast(), self.bytes, Advice::LinuxDoFork) }
    }

    /// All addresses of the mapping.
    pub(crate) fn span(&self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.bytes
    }

    /// Locks both parts of the mapping or none: pages move between them.
    pub(crate) fn lock(&self) {
        // SAFETY: locking changes no contents.
        let lock = |(start, bytes): (*mut u8, usize)| unsafe {
            rustix::mm::mlock_with(start.cast(), bytes, MlockFlags::ONFAULT)
        };
        self.locked.store(false, Ordering::Relaxed);
        if self.parts().into_iter().all(|part| lock(part).is_ok()) {
            self.mark_locked();
        } else {
            self.unlock();
        }
    }

    fn parts(&self) -> [(*mut u8, usize); 2] {
        [(self.start, self.first_bytes), (self.at(self.second_at), self.bytes - self.second_at)]
    }

    /// Unlocks both parts of the mapping.
    pub(crate) fn unlock(&self) {
        for (start, bytes) in self.parts() {
            // SAFETY: unlocking changes no contents. What was not locked need not be unlocked.
            let _ = unsafe { rustix::mm::munlock(start.cast(), bytes) };
        }
        self.locked.store(false, Ordering::Relaxed);
    }

    /// All memory of the process was locked.
    pub(crate) fn mark_locked(&self) {
        self.locked.store(true, Ordering::Relaxed);
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

    /// Returns whether it is kept out of swap.
    pub(crate) fn is_locked(&self) -> bool {
        self.locked.load(Ordering::Relaxed)
    }

    fn at(&self, offset: usize) -> *mut u8 {
        self.start.wrapping_add(offset)
    }
}

/// Keeps memory out of core dumps and of children, and in small, unmerged pages. Its contents do not change.
///
/// # Safety
/// The memory belongs to the caller.
pub(crate) unsafe fn guard(start: *mut c_void, bytes: usize) -> Result<(), Errno> {
    for advice in [
        Advice::LinuxDontDump,
        Advice::LinuxDontFork,
        // Pages are moved one at a time. And merging equal pages would reveal their contents to others.
        Advice::LinuxNoHugepage,
        Advice::LinuxUnmergeable,
    ] {
        // SAFETY: as the caller promises.
        match unsafe { rustix::mm::madvise(start, bytes, advice) } {
            // Kernels without huge pages or page merging do not know this advice.
            Err(Errno::INVAL) if matches!(advice, Advice::LinuxNoHugepage | Advice::LinuxUnmergeable) => {}
            other => other?,
        }
    }
    Ok(())
}

impl Drop for PrivateMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; every holder of addresses in it borrowed it.
        let unmapped = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}
