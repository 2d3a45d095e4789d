//! Pages the stack of a thread, from the thread's own function downwards, in place, as it is accessed.
//!
//! The part above is not paged. The kernel and the C library have their records of the thread there. The kernel writes
//! to it when the thread ends, without waiting for a page. The C library maps stacks, reuses them for other threads and
//! unmaps them by its own calls. So ordinary memory is there again before it gets the stack back.

use crate::errno::{errno, fail};
use crate::libc_next::libc_next;
use crate::page::PAGE;
use crate::region_pages::{RegionPages, pages};
use ameles_pager::access::Access;
use ameles_pager::addresses::MapRequest;
use libc::{c_int, c_void, pthread_attr_t, size_t};
use std::cell::Cell;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::null_mut;

/// The bytes left unpaged below the first frame of this library: its frames while it pages the rest, or undoes that.
const MARGIN: usize = 8 * PAGE;

/// The bytes above the program's own function: the margin, and rounding to pages.
const SKIPPED: usize = MARGIN + 2 * PAGE;

/// The function that a thread begins with.
pub(crate) type ThreadMain = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

thread_local! {
    // Constant and without a destructor: accessing it never allocates.
    static PAGED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Returns whether a thread that is made with these attributes gets its stack from the C library.
///
/// # Safety
/// Attributes of a thread, or null.
pub(crate) unsafe fn is_library_stack(attributes: *const pthread_attr_t) -> bool {
    let (mut at, mut len) = (null_mut(), 0);
    // SAFETY: the caller's promise; both are written. A stack that was not set ends at address 0.
    attributes.is_null()
        || unsafe { libc::pthread_attr_getstack(attributes, &raw mut at, &raw mut len) } == 0
            && (at as usize).wrapping_add(len) == 0
}

/// Leaves the top of a stack that the program provides to the kernel. When the thread ends, the kernel writes to the
/// thread's record there, without waiting for a page. The thread-local variables are there too.
///
/// # Safety
/// The attributes of a thread whose stack the program provides.
pub(crate) unsafe fn expose_top(pages: &RegionPages, attributes: *const pthread_attr_t) {
    type Least = unsafe extern "C" fn(*const pthread_attr_t) -> size_t;
    let (mut at, mut len) = (null_mut(), 0);
    // SAFETY: the caller's promise; both are written.
    let failed = unsafe { libc::pthread_attr_getstack(attributes, &raw mut at, &raw mut len) } != 0;
    // The part of a stack that the C library uses, with some room for the first frames.
    // SAFETY: the C library's own function, which reads the attributes.
    let top =
        libc_next::<Least>(c"__pthread_get_minstack").map_or(16 * PAGE, |min| unsafe { min(attributes) });
    if !failed {
        let end = (at as usize).saturating_add(len);
        pages.region().expose(end - top.min(len)..end);
    }
}

/// The same attributes with a stack that is longer by the unpaged part: it may have been measured for the program's
/// needs. `None` if the program leaves its length to the C library.
///
/// # Safety
/// Attributes of a thread that gets its stack from the C library, or null. The result is dropped before they are.
pub(crate) unsafe fn lengthened(attributes: *const pthread_attr_t) -> Option<pthread_attr_t> {
    // SAFETY: the caller's promise. Creating a thread only reads its attributes, so they may refer to shared memory.
    unsafe {
        let mut lengthened = attributes.as_ref().copied()?;
        let mut len = 0;
        let failed = libc::pthread_attr_getstacksize(&raw const lengthened, &raw mut len) != 0
            || libc::pthread_attr_setstacksize(&raw mut lengthened, len.checked_add(SKIPPED)?) != 0;
        (!failed).then_some(lengthened)
    }
}

/// Calls the function of a thread that begins, with its stack paged if possible.
///
/// # Safety
/// The C library has made this stack for the calling thread, which has done nothing yet. The function accepts the
/// argument.
pub(crate) unsafe extern "C-unwind" fn call_paged(main: ThreadMain, argument: *mut c_void) -> *mut c_void {
    // Other C libraries end a thread on the stack of its function, and have no calls to change stacks.
    let is_paged = cfg!(target_env = "gnu") && page_stack();
    // SAFETY: the caller's promise.
    unsafe { if is_paged { call_below(main, argument) } else { main(argument) } }
}

/// The function's frames begin in the paged part. Nothing may need dropping here: the thread may leave by unwinding.
#[inline(never)]
unsafe extern "C-unwind" fn call_below(main: ThreadMain, argument: *mut c_void) -> *mut c_void {
    let mut skipped = MaybeUninit::<[u8; SKIPPED]>::uninit();
    black_box(&raw mut skipped);
    // SAFETY: the caller's promise.
    let answer = unsafe { main(argument) };
    black_box(&raw mut skipped);
    answer
}

/// Pages the calling thread's stack from now on, except the margin. Returns whether that was possible.
#[inline(never)]
fn page_stack() -> bool {
    let Some(pages) = pages() else { return false };
    let here = 0_u8;
    let Some(span) = pageable_part(&raw const here as usize) else { return false };
    let wanted = MapRequest {
        at: span.start,
        bytes: span.len(),
        access: Access::READ_WRITE,
        flags: (libc::MAP_FIXED | libc::MAP_STACK | libc::MAP_NORESERVE) as u32,
    };
    // SAFETY: nothing of the stack is used below the margin, and signals that come meanwhile are taken elsewhere.
    let is_paged = unsafe { pages.region().map(wanted) }.is_ok();
    if is_paged {
        PAGED.set((span.start, span.end));
    } else {
        // Its contents may be lost, but it was empty; or they are still there.
        put_ordinary_memory(pages, span, libc::MAP_FIXED_NOREPLACE);
    }
    is_paged
}

/// Replaces the calling thread's paged stack by ordinary memory, as the last step of the thread. Does nothing if the
/// thread ends within the frames of its function.
pub(crate) fn restore_stack() {
    let (start, end) = PAGED.replace((0, 0));
    let here = 0_u8;
    // A thread that ends from within its function's frames would lose them.
    let is_above = end <= &raw const here as usize - MARGIN / 2;
    if let Some(pages) = pages().filter(|_| end > 0 && is_above) {
        put_ordinary_memory(pages, start..end, libc::MAP_FIXED);
    }
}

fn put_ordinary_memory(pages: &RegionPages, span: Range<usize>, fixed: c_int) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = fixed | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
    let (at, len) = (span.start, span.len());
    // SAFETY: the span belongs to the calling thread, which has nothing there.
    let map = move || unsafe {
        let at = libc::syscall(libc::SYS_mmap, at, len, protection, flags, -1_isize, 0_usize);
        (at != -1).then_some(())
    };
    // SAFETY: the call replaces that span or nothing. If the kernel does not do it, the thread has a paged stack to its
    // end.
    unsafe { pages.region().replace(span, map) };
}

/// The part of the calling thread's stack below one of its addresses that may be paged.
fn pageable_part(address: usize) -> Option<Range<usize>> {
    let (mut at, mut len, mut guard): (*mut c_void, size_t, size_t) = (null_mut(), 0, 0);
    let mut attributes = MaybeUninit::<pthread_attr_t>::uninit();
    // SAFETY: the first call fills the attributes, and the others read them and fill what they are given.
    let failed: c_int = unsafe {
        let failed = libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr());
        if failed != 0 {
            return None;
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut at, &raw mut len)
            | libc::pthread_attr_getguardsize(attributes.as_ptr(), &raw mut guard)
            | libc::pthread_attr_destroy(attributes.as_mut_ptr())
    };
    let start = (at as usize).checked_add(guard)?.next_multiple_of(PAGE);
    let end = (address & !(PAGE - 1)).checked_sub(MARGIN)?;
    let is_within = failed == 0 && (at as usize..at as usize + len).contains(&address);
    // A stack that had another thread before may have a larger guard than this one requested.
    (is_within && start < end && is_readable(start)).then_some(start..end)
}

/// Makes a call with an invalid operation on the mask. The kernel reads the set before it rejects the call.
fn is_readable(address: usize) -> bool {
    const NO_WAY: c_int = -1;
    // SAFETY: changes nothing.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NO_WAY, address, 0_usize, 8_usize) };
    let readable = errno() != libc::EFAULT;
    fail(0);
    readable
}
