//! The C library's open files (`FILE`), which lie on the program's heap. In a child after `fork` the C library goes
//! through all of them and unlocks them, before any handler is called. If the files are paged, this is too early. So
//! they are removed from the library's list until the region is ready, and are unlocked at that time.

use crate::fork_slot::ForkSlot;
use crate::libc_next::libc_next;
use std::ffi::CStr;
use std::sync::OnceLock;

/// The part of a `FILE` that all releases of glibc on 64-bit machines share, and programs are compiled with.
#[repr(C)]
struct File {
    flags: u64,
    buffers: [usize; 11],
    markers: usize,
    chain: *mut File,
    file: u64,
    old_offset: i64,
    column: u64,
    lock: *mut FileLock,
}

/// A recursive lock that is free is all zeros.
#[repr(C)]
struct FileLock {
    word: i32,
    count: i32,
    owner: usize,
}

/// The C library's own names. They are in no header, and in every release of glibc.
struct Library {
    /// The first file.
    all: *mut *mut File,
    lock: unsafe extern "C" fn(),
    unlock: unsafe extern "C" fn(),
}

// SAFETY: the list is accessed under its lock only.
unsafe impl Sync for Library {}
// SAFETY: as above.
unsafe impl Send for Library {}

static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();

/// The first file, and the first one after it that remains in the list.
static HIDDEN: ForkSlot<(*mut File, *mut File)> = ForkSlot::new();

fn library() -> Option<&'static Library> {
    let find = || {
        let all: *mut *mut File = libc_next(c"_IO_list_all")?;
        let found = |name: &CStr| libc_next::<unsafe extern "C" fn()>(name);
        Some(Library { all, lock: found(c"_IO_list_lock")?, unlock: found(c"_IO_list_unlock")? })
    };
    LIBRARY.get_or_init(find).as_ref()
}

/// Finds the functions that the rest needs. `false` if they do not exist.
pub(crate) fn find() -> bool {
    library().is_some()
}

/// Locks the list, and removes all files up to the last one that `is_paged` selects.
///
/// # Safety
/// `fork` comes next, and afterwards one of the two below is called.
pub(crate) unsafe fn hide(is_paged: impl Fn(*const u8) -> bool) {
    let Some(library) = library() else { return };
    // SAFETY: the list ends with null, and does not change while it is locked.
    unsafe {
        (library.lock)();
        let first = *library.all;
        let (mut file, mut left) = (first, first);
        while !file.is_null() {
            let next = (*file).chain;
            if is_paged(file.cast()) || is_paged((*file).lock.cast()) {
                left = next;
            }
            file = next;
        }
        HIDDEN.put((first, left));
        *library.all = left;
    }
}

/// Restores the list of files in the parent.
///
/// # Safety
/// After [`hide`].
pub(crate) unsafe fn show() {
    // SAFETY: as the caller promises; the calling thread has the lock.
    if let (Some(library), Some((first, _))) = (library(), unsafe { HIDDEN.take() }) {
        // SAFETY: as above.
        unsafe {
            *library.all = first;
            (library.unlock)();
        }
    }
}

/// Runs in the child. The C library has unlocked all files there except the hidden ones.
///
/// # Safety
/// After [`hide`], and the region is ready.
pub(crate) unsafe fn show_in_child() {
    // SAFETY: as the caller promises.
    if let (Some(library), Some((first, left))) = (library(), unsafe { HIDDEN.take() }) {
        let mut file = first;
        // SAFETY: there is one thread, and these are files with locks of their own.
        unsafe {
            while file != left {
                if !(*file).lock.is_null() {
                    (*file).lock.write(FileLock { word: 0, count: 0, owner: 0 });
                }
                file = (*file).chain;
            }
            *library.all = first;
        }
    }
}
