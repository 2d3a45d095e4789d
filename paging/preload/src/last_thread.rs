//! The end of a program whose threads end one after the other, including `main`.
//!
//! The C library ends a program with its last thread, and so does the kernel; but both count the threads that handle
//! faults. So each thread that ends checks for others.

use crate::own_threads::{self, thread_id};
use crate::report;
use libc::{c_int, pid_t};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The threads that have begun to end, and may still be listed; the first one until its end.
static EXITED: Mutex<Vec<pid_t>> = Mutex::new(Vec::new());

/// True if a thread has ended without the C library. The library still counts this thread, so it never ends the
/// program.
static HAS_RAW_EXIT: AtomicBool = AtomicBool::new(false);

/// Records that the calling thread begins. A thread that has ended may have had the same number.
pub(crate) fn on_thread_start() {
    EXITED.lock().unwrap_or_else(PoisonError::into_inner).retain(|exited| *exited != thread_id());
}

/// Records that the calling thread ends, and tells whether it is the last. Unknown threads count as threads of the
/// program.
fn is_last() -> bool {
    // Two that end at the same time check one after the other: the later one finds the earlier one here.
    let mut exited = EXITED.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(listed) = own_threads::list_threads() else { return false };
    exited.retain(|thread| listed.contains(thread));
    exited.push(thread_id());
    listed.iter().all(|thread| exited.contains(thread) || own_threads::contains(*thread))
}

/// Runs when the C library has destroyed a thread's variables. After the last thread, the program ends as the C library
/// ends it.
pub(crate) fn on_thread_exit() {
    if is_last() {
        if HAS_RAW_EXIT.load(Ordering::SeqCst) {
            end(0);
        }
        // SAFETY: no other thread of the program is left.
        unsafe { libc::exit(0) };
    }
}

/// Runs before a thread ends by its own system call.
pub(crate) fn on_raw_exit(code: c_int) {
    HAS_RAW_EXIT.store(true, Ordering::SeqCst);
    if is_last() {
        end(code);
    }
}

/// Ends the program like the kernel does, with the last thread's code, without exit handlers of the C library.
fn end(code: c_int) {
    report::on_exit();
    // SAFETY: ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, code) };
}
