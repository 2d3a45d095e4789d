//! A program that replaces itself by another: this is recorded, because the other is not paged. The same applies to a
//! child after `vfork`. Neither is bound to a processor.

use crate::errno::fail;
use crate::libc_next::libc_next;
use crate::region_pages::pages;
use crate::report;
use crate::without_affinity::call_without_affinity;
use libc::{c_char, c_int};
use std::ffi::CStr;

type Words = *const *const c_char;

/// Calls the C library to run a file, and removes the record if that returns.
fn run<F: Copy>(name: &CStr, file: *const c_char, call: impl FnOnce(F) -> c_int) -> c_int {
    if pages().is_none() {
        return call_without_affinity(name, -1, call);
    }
    // SAFETY: the program names a file, or nothing.
    let file = if file.is_null() { c"" } else { unsafe { CStr::from_ptr(file) } };
    let told = report::before_exec(file);
    let failed = call_without_affinity(name, -1, call);
    report::exec_failed(told);
    failed
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(file: *const c_char, words: Words, environment: Words) -> c_int {
    type Call = unsafe extern "C" fn(*const c_char, Words, Words) -> c_int;
    // SAFETY: the program's own call, as it stands.
    run(c"execve", file, |call: Call| unsafe { call(file, words, environment) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(file: *const c_char, words: Words) -> c_int {
    type Call = unsafe extern "C" fn(*const c_char, Words) -> c_int;
    // SAFETY: the program's own call, as it stands.
    run(c"execv", file, |call: Call| unsafe { call(file, words) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(file: *const c_char, words: Words) -> c_int {
    type Call = unsafe extern "C" fn(*const c_char, Words) -> c_int;
    // SAFETY: the program's own call, as it stands.
    run(c"execvp", file, |call: Call| unsafe { call(file, words) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(file: *const c_char, words: Words, environment: Words) -> c_int {
    type Call = unsafe extern "C" fn(*const c_char, Words, Words) -> c_int;
    // SAFETY: the program's own call, as it stands.
    run(c"execvpe", file, |call: Call| unsafe { call(file, words, environment) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(file: c_int, words: Words, environment: Words) -> c_int {
    type Call = unsafe extern "C" fn(c_int, Words, Words) -> c_int;
    // SAFETY: the program's own call, as it stands.
    run(c"fexecve", std::ptr::null(), |call: Call| unsafe { call(file, words, environment) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    folder: c_int,
    file: *const c_char,
    words: Words,
    environment: Words,
    flags: c_int,
) -> c_int {
    type Call = unsafe extern "C" fn(c_int, *const c_char, Words, Words, c_int) -> c_int;
    // SAFETY: the program's own call, as it stands.
    run(c"execveat", file, |call: Call| unsafe { call(folder, file, words, environment, flags) })
}

/// Continues `vfork` when no thread is bound: the C library's own function.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
extern "C" fn before_vfork() -> usize {
    if let Some(pages) = pages() {
        pages.region().with_unbound_threads(|| ());
    }
    let found: Option<unsafe extern "C" fn() -> libc::pid_t> = libc_next(c"vfork");
    found.map_or(refuse as extern "C" fn() -> libc::pid_t as usize, |vfork| vfork as usize)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
extern "C" fn refuse() -> libc::pid_t {
    fail(libc::ENOSYS);
    -1
}

// It returns twice, and must leave nothing on the stack: after the call above it jumps.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> libc::pid_t {
    core::arch::naked_asm!("sub rsp, 8", "call {before}", "add rsp, 8", "jmp rax", before = sym before_vfork);
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> libc::pid_t {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {before}",
        "ldp x29, x30, [sp], #16",
        "br x0",
        before = sym before_vfork
    );
}
