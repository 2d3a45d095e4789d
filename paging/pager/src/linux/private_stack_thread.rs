//! A thread of the pager on a stack of the pager. In a child after `fork`, the C library reuses the stacks of the
//! parent's threads for new threads. Its records of these stacks are in the program's memory. This stack is never
//! reused.
#![allow(unsafe_code, reason = "a thread by the C library's own call; each block says why it is sound")]

use crate::page::PAGE_BYTES;
use crate::private::PrivateMapping;
use rustix::io::Errno;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

/// The size of the stack, far more than a fault needs. Pages that are not accessed take no memory.
const BYTES: usize = 512 << 10;

/// A thread with a stack that is not paged. [`join`](Self::join) joins it, and
/// [`forget_in_child`](Self::forget_in_child) leaves it alone.
pub(crate) struct PrivateStackThread {
    thread: libc::pthread_t,
    /// The stack of the thread, after a guard page.
    _stack: PrivateMapping,
}

/// The work of the thread.
type Work = Box<dyn FnOnce() + Send>;

impl PrivateStackThread {
    /// The caller blocks the signals that the thread is not to take.
    pub(crate) fn start(name: &'static CStr, work: impl FnOnce() + Send + 'static) -> Result<Self, Errno> {
        let stack = PrivateMapping::new(PAGE_BYTES, BYTES, PAGE_BYTES)?;
        // The C library accesses the thread's own record there, also in a child.
        stack.share_with_children()?;
        let named: Work = Box::new(move || {
            // SAFETY: the name ends with zero.
            unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
            work();
        });
        let work = Box::into_raw(Box::new(named));
        let mut attributes = MaybeUninit::uninit();
        let mut thread = 0;
        // SAFETY: the attributes are made before they are used. The stack lives as long as the thread, which takes the
        // work. If the C library refuses the thread, the work is the caller's again.
        unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstack(attributes.as_mut_ptr(), stack.second().cast(), stack.second_bytes());
            let refused = libc::pthread_create(&raw mut thread, attributes.as_ptr(), run, work.cast());
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            if refused != 0 {
                drop(Box::from_raw(work));
                return Err(Errno::from_raw_os_error(refused));
            }
        }
        Ok(PrivateStackThread { thread, _stack: stack })
    }

    pub(crate) fn join(self) {
        // SAFETY: it was never joined before, and ends.
        unsafe { libc::pthread_join(self.thread, std::ptr::null_mut()) };
    }

    /// Forgets the thread in a child after `fork`, which has no such thread. The stack is freed.
    pub(crate) fn forget_in_child(self) {}
}

extern "C" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: it was made only for this thread.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    work();
    std::ptr::null_mut()
}
