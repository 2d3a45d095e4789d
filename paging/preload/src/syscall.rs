//! `syscall`, as programs call it for system calls without a function in the C library.
//!
//! A few operations on futexes access their memory without page faults: they fail with EFAULT on an evicted page. Here
//! the page is accessed first, and the operation is repeated.

use crate::errno::fail;
use crate::region_pages::{pages, pages_of_program};
use crate::{last_thread, report};
use ameles_pager::access::Access;
use ameles_pager::addresses::SpanPart;
use libc::{c_int, c_long};

/// The times that a page is paged in before the operation. Other threads may evict it in between.
const MAX_TRIES: usize = 1000;

/// The least result of the kernel that is an error.
const MIN_ERROR: isize = -4095;

#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_exit_group {
        report::on_exit();
    } else if number == libc::SYS_exit && pages_of_program().is_some() {
        last_thread::on_raw_exit(a as c_int);
    }
    // SAFETY: the caller's own call, as it stands.
    let call = || unsafe { raw_call(number, [a, b, c, d, e, f]) };
    let is_affinity_call = [libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity].contains(&number);
    // In this order: a caller within the pager may hold its lock, and a thread's own variables may be paged.
    let mut answer = match is_affinity_call.then(pages_of_program).flatten() {
        Some(pages) => pages.region().with_unbound_threads(call),
        None => call(),
    };
    if number == libc::SYS_futex && is_fault(answer) {
        for _ in 0..MAX_TRIES {
            // SAFETY: both are addresses of futexes, or of anything; only paged memory is accessed.
            let touched = unsafe { touch(a) | (has_two_futexes(b as c_int) && touch(e)) };
            if !touched || !is_fault(answer) {
                break;
            }
            answer = call();
        }
    }
    if (MIN_ERROR..0).contains(&answer) {
        fail(-answer as c_int);
        return -1;
    }
    answer as c_long
}

fn is_fault(answer: isize) -> bool {
    answer == -(libc::EFAULT as isize)
}

/// Returns whether the operation is on two futexes.
fn has_two_futexes(operation: c_int) -> bool {
    let operation = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    [
        libc::FUTEX_REQUEUE,
        libc::FUTEX_CMP_REQUEUE,
        libc::FUTEX_WAKE_OP,
        libc::FUTEX_WAIT_REQUEUE_PI,
        libc::FUTEX_CMP_REQUEUE_PI,
    ]
    .contains(&operation)
}

/// Pages in the page of a futex, if it is paged. Returns whether it is.
///
/// # Safety
/// If the address is paged, it is one of the program's futexes.
unsafe fn touch(at: usize) -> bool {
    let is_known = |part: &SpanPart| part.known.is_paged() && part.access != Access::NONE;
    let is_paged = at.is_multiple_of(4)
        && at < usize::MAX - 4
        && pages().is_some_and(|pages| pages.region().known(at..at + 4).iter().any(is_known));
    if is_paged {
        // SAFETY: paged memory that may be accessed may be read. A present page may be written, if it is writable.
        unsafe { (at as *const u32).read_volatile() };
    }
    is_paged
}

/// The kernel's result.
///
/// # Safety
/// The conditions of the system call.
unsafe fn raw_call(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer;
    // SAFETY: the kernel changes rcx and r11 besides the result; the caller promises the rest.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    // SAFETY: the kernel changes nothing besides the result; the caller promises the rest.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a as isize => answer,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack)
        );
    }
    answer
}
