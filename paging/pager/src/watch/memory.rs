//! The untrusted memory of a region, in the watcher's own process.
#![allow(unsafe_code, reason = "a mapping that another process writes to; each block says why it is sound")]

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::SealFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::ptr;

/// A read-only mapping. Another process changes it at any time.
#[derive(Debug)]
pub struct WatchedMemory {
    start: *const u8,
    bytes: usize,
}

// SAFETY: the mapping is read word by word in `word` only, which any number of threads may call.
unsafe impl Send for WatchedMemory {}
// SAFETY: as above.
unsafe impl Sync for WatchedMemory {}

impl WatchedMemory {
    /// Maps a file in memory, such as that of [`Region::untrusted`](crate::region::Region::untrusted).
    ///
    /// # Errors
    /// The system's error, or `EPERM` for a file that may shrink: a read beyond its end would end the process.
    pub fn map(file: OwnedFd) -> Result<Self, Errno> {
        if !rustix::fs::fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            return Err(Errno::PERM);
        }
        let bytes = usize::try_from(rustix::fs::fstat(&file)?.st_size).map_err(|_| Errno::OVERFLOW)?;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let start = unsafe {
            rustix::mm::mmap(ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, file.as_fd(), 0)?
        };
        Ok(WatchedMemory { start: start.cast::<u8>().cast_const(), bytes })
    }

    /// Returns the length of the memory in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The eight bytes at `at`, which is a multiple of eight.
    ///
    /// # Panics
    /// If they lie beyond the end, or `at` is not a multiple of eight.
    pub fn word(&self, at: usize) -> u64 {
        assert!(at.is_multiple_of(8) && at < self.bytes && self.bytes - at >= 8, "a word of the mapping");
        // SAFETY: the word lies within the mapping, aligned, and the file cannot shrink. It may change at any moment:
        // a volatile read takes it once.
        unsafe { self.start.add(at).cast::<u64>().read_volatile() }
    }
}

impl Drop for WatchedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no address of it leaves this file.
        let unmapped = unsafe { rustix::mm::munmap(self.start.cast_mut().cast(), self.bytes) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}
