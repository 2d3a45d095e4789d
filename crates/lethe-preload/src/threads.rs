//! Threads of the program: one that is started may run on every processor that the program might run on; one that ends is
//! seen off as the kernel would do it, if it could reach the memory.

use crate::child::start;
use crate::robust;
use libc::{c_int, c_void, pthread_attr_t, pthread_t};

type Begin = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Begin, *mut c_void) -> c_int;

/// What a thread begins with.
struct Work {
    begin: Begin,
    argument: *mut c_void,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    begin: Begin,
    argument: *mut c_void,
) -> c_int {
    start(c"pthread_create", libc::EAGAIN, |create: Create| {
        if crate::region_pages::pages().is_none() {
            // SAFETY: the caller's own call, as it stands.
            return unsafe { create(thread, attributes, begin, argument) };
        }
        let work = Box::into_raw(Box::new(Work { begin, argument }));
        // SAFETY: the program's own call, but for who calls its function.
        let refused = unsafe { create(thread, attributes, run, work.cast()) };
        if refused != 0 {
            // SAFETY: no thread has it.
            drop(unsafe { Box::from_raw(work) });
        }
        refused
    })
}

/// A thread may leave from within by unwinding: nothing is to be dropped here.
unsafe extern "C-unwind" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: it was made for this thread alone.
    let Work { begin, argument } = *unsafe { Box::from_raw(work.cast::<Work>()) };
    robust::watch_this_thread();
    // SAFETY: the program's own function and argument.
    unsafe { begin(argument) }
}
