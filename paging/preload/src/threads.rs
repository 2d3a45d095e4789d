//! Threads of the program. A new thread may run on every processor of the program. When a thread ends, the kernel's
//! work on paged memory is done here. Their stacks are paged.

use crate::region_pages::pages_of_program;
use crate::stacks::{self, ThreadMain};
use crate::{last_thread, robust_mutexes, without_affinity};
use libc::{c_int, c_void, pthread_attr_t, pthread_t};

type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, ThreadMain, *mut c_void) -> c_int;

/// The function that a thread begins with, and its argument.
struct Work {
    main: ThreadMain,
    argument: *mut c_void,
    has_library_stack: bool,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    main: ThreadMain,
    argument: *mut c_void,
) -> c_int {
    without_affinity::call_without_affinity(c"pthread_create", libc::EAGAIN, |create: Create| {
        let Some(pages) = pages_of_program() else {
            // SAFETY: the caller's own call, as it stands.
            return unsafe { create(thread, attributes, main, argument) };
        };
        // SAFETY: the program passes valid attributes, or null.
        let has_library_stack = unsafe { stacks::is_library_stack(attributes) };
        let work = Box::into_raw(Box::new(Work { main, argument, has_library_stack }));
        if !has_library_stack {
            // SAFETY: as above.
            unsafe { stacks::expose_top(pages, attributes) };
        }
        // SAFETY: as above.
        let lengthened = if has_library_stack { unsafe { stacks::lengthened(attributes) } } else { None };
        let attributes = lengthened.as_ref().map_or(attributes, std::ptr::from_ref);
        // SAFETY: the program's own call, except for the caller of its function and the length of the stack.
        let refused = unsafe { create(thread, attributes, run, work.cast()) };
        if refused != 0 {
            // SAFETY: no thread has it.
            drop(unsafe { Box::from_raw(work) });
        }
        refused
    })
}

/// A thread may leave from within by unwinding: nothing may need dropping here.
unsafe extern "C-unwind" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: it was made only for this thread.
    let Work { main, argument, has_library_stack } = *unsafe { Box::from_raw(work.cast::<Work>()) };
    last_thread::on_thread_start();
    let is_watched = robust_mutexes::watch_this_thread();
    // SAFETY: the program's own function and argument; nothing was done on the stack yet.
    unsafe {
        if is_watched && has_library_stack { stacks::call_paged(main, argument) } else { main(argument) }
    }
}

/// The function that a thread of standard C begins with, and its argument.
type Standard = (unsafe extern "C-unwind" fn(*mut c_void) -> c_int, *mut c_void);

/// Does the same as `pthread_create`: the C library makes both kinds of threads in the same way.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_create(
    thread: *mut pthread_t,
    main: unsafe extern "C-unwind" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
) -> c_int {
    const ERROR: c_int = 2;
    const NO_MEMORY: c_int = 3;
    let work = Box::into_raw(Box::<Standard>::new((main, argument)));
    // SAFETY: the program's own call, except for the caller of its function.
    match unsafe { pthread_create(thread, std::ptr::null(), run_standard, work.cast()) } {
        0 => 0,
        refused => {
            // SAFETY: no thread has it.
            drop(unsafe { Box::from_raw(work) });
            if refused == libc::ENOMEM { NO_MEMORY } else { ERROR }
        }
    }
}

/// Does the same as [`run`], for standard C's threads.
unsafe extern "C-unwind" fn run_standard(work: *mut c_void) -> *mut c_void {
    // SAFETY: it was made only for this thread.
    let (main, argument) = *unsafe { Box::from_raw(work.cast::<Standard>()) };
    // SAFETY: the program's own function and argument.
    unsafe { main(argument) as isize as *mut c_void }
}
