//! Untrusted memory: mapped shared, so that an observer can read and change it at any time.
#![allow(unsafe_code, reason = "raw copies; each block says why it is sound")]

use crate::descriptors::OwnDescriptor;
use ameles_seal::pages::SharedMemory;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::ptr;

/// A file in memory, mapped shared. It holds sealed pages only.
#[derive(Debug)]
pub struct SharedMapping {
    file: OwnDescriptor,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping is dereferenced in `SharedView::load` and `store` only, which any number of threads may call.
unsafe impl Send for SharedMapping {}
// SAFETY: as above.
unsafe impl Sync for SharedMapping {}

impl SharedMapping {
    /// Makes a new file without a name. It can neither shrink nor grow, so the memory stays mapped during a copy.
    pub(crate) fn new(bytes: usize) -> Result<Self, Errno> {
        let file = rustix::fs::memfd_create("ameles-pages", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&file, bytes as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let file = OwnDescriptor::new(file)?;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let start = unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, protection, flags, &file, 0)? };
        Ok(SharedMapping { file, start: start.cast(), bytes })
    }

    /// A view of this memory, for a process that has the mapping but not this one's heap.
    pub(crate) fn view(&self) -> SharedView {
        SharedView { start: self.start, bytes: self.bytes }
    }
}

/// A mapping's memory. It is valid as long as the process has the mapping.
pub(crate) struct SharedView {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: as for the mapping.
unsafe impl Sync for SharedView {}

impl SharedView {
    fn range(&self, at: usize, len: usize) -> *mut u8 {
        assert!(at <= self.bytes && len <= self.bytes - at, "a copy beyond the shared memory");
        self.start.wrapping_add(at)
    }
}

impl SharedMemory for SharedView {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn load(&self, at: usize, into: &mut [u8]) {
        // SAFETY: the range lies within the mapping, which `into` is not part of.
        unsafe { copy_once(self.range(at, into.len()), into.as_mut_ptr(), into.len()) };
    }

    fn store(&self, at: usize, from: &[u8]) {
        // SAFETY: as above.
        unsafe { copy_once(from.as_ptr(), self.range(at, from.len()), from.len()) };
    }
}

/// The file that holds the pages, to be mapped or sent to another process by an observer.
impl AsFd for SharedMapping {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl SharedMemory for SharedMapping {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn load(&self, at: usize, into: &mut [u8]) {
        self.view().load(at, into);
    }

    fn store(&self, at: usize, from: &[u8]) {
        self.view().store(at, from);
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no address of it leaves this file.
        let unmapped = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}

/// A copy that is opaque to the compiler: it can neither read shared memory twice nor omit a copy.
///
/// # Safety
/// Both ranges are mapped and do not overlap. One of them may change meanwhile.
#[inline(never)]
unsafe fn copy_once(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller promises the ranges; the direction flag is clear, as always between instructions of Rust.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller promises the ranges. The barriers keep the compiler from joining this copy with others.
    unsafe {
        std::hint::black_box(from).copy_to_nonoverlapping(std::hint::black_box(to), len);
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }
}
