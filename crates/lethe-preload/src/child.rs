//! A child that shares nothing of the region: `fork` is refused, while `posix_spawn` and `vfork` with `exec` work.

use crate::region_pages::pages;
use crate::say::{fail, say};
use libc::{c_int, pid_t};

fn refuse(what: &str) -> pid_t {
    say(&[
        what,
        " is refused: a child would need the pages that lie in untrusted memory. posix_spawn, system and popen work",
    ]);
    fail(libc::ENOSYS);
    -1
}

/// The call that the program would have made without this library.
fn next<F: Copy>(name: &std::ffi::CStr) -> Option<F> {
    assert_eq!(size_of::<F>(), size_of::<*mut libc::c_void>());
    // SAFETY: the name ends with zero; a function's pointer is as large as a pointer.
    unsafe {
        let found = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        (!found.is_null()).then(|| std::mem::transmute_copy(&found))
    }
}

fn fork_or_refuse(name: &std::ffi::CStr) -> pid_t {
    if pages().is_some() {
        return refuse("fork");
    }
    match next::<unsafe extern "C" fn() -> pid_t>(name) {
        // SAFETY: the C library's own.
        Some(fork) => unsafe { fork() },
        None => refuse("fork"),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> pid_t {
    fork_or_refuse(c"fork")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Fork() -> pid_t {
    fork_or_refuse(c"_Fork")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn forkpty(
    _: *mut c_int,
    _: *mut libc::c_char,
    _: *const libc::termios,
    _: *const libc::winsize,
) -> pid_t {
    refuse("forkpty")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn daemon(_: c_int, _: c_int) -> c_int {
    refuse("daemon")
}
