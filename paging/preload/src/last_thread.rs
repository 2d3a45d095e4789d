//! The end of a program whose threads end one after the other, `main` among them.
//!
//! The C library ends a program with its last thread, and so does the kernel; but both count the threads that serve
//! faults. So whoever ends looks for others.

use crate::own_threads::{self, number};
use crate::report;
use libc::{c_int, pid_t};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The threads that have told that they end, and may still be listed: the first one is to the end.
static LEFT: Mutex<Vec<pid_t>> = Mutex::new(Vec::new());

/// True once a thread has ended without the C library, which counts it as there then: it never ends the program.
static IS_LEFT_TO_KERNEL: AtomicBool = AtomicBool::new(false);

/// Tells that the calling thread begins: one that has ended may have had its number.
pub(crate) fn begins() {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).retain(|left| *left != number());
}

/// Tells that the calling thread ends, and whether it is the last. Threads that are unknown count as the program's.
fn is_last() -> bool {
    // Two that end at the same time look one after the other: the later one finds the earlier one here.
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(listed) = own_threads::listed() else { return false };
    left.retain(|thread| listed.contains(thread));
    left.push(number());
    listed.iter().all(|thread| left.contains(thread) || own_threads::are(*thread))
}

/// Called when the C library has destroyed what the thread had: with the last one, the program ends as the C library
/// ends it.
pub(crate) fn leaves() {
    if is_last() {
        if IS_LEFT_TO_KERNEL.load(Ordering::SeqCst) {
            end(0);
        }
        // SAFETY: no other thread of the program is left.
        unsafe { libc::exit(0) };
    }
}

/// Called before a thread ends by a system call of its own.
pub(crate) fn leaves_to_kernel(code: c_int) {
    IS_LEFT_TO_KERNEL.store(true, Ordering::SeqCst);
    if is_last() {
        end(code);
    }
}

/// Ends the program as the kernel does, with the last thread's code, and no handler of the C library's runs.
fn end(code: c_int) {
    report::at_the_end();
    // SAFETY: ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, code) };
}
