//! A child that shares nothing of the region: `fork` is refused, while `posix_spawn` and `vfork` with `exec` work. What is
//! started by `posix_spawn`, `system` and `popen` may run on every processor that the program might run on.

use crate::region_pages::pages;
use crate::say::{fail, say};
use libc::{c_char, c_int, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};

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

type Spawn = unsafe extern "C" fn(
    *mut pid_t,
    *const c_char,
    *const posix_spawn_file_actions_t,
    *const posix_spawnattr_t,
    *const *mut c_char,
    *const *mut c_char,
) -> c_int;

/// Calls the C library while no thread is bound to a processor.
fn start<F: Copy, R>(name: &std::ffi::CStr, failed: R, call: impl FnOnce(F) -> R) -> R {
    match (next(name), pages()) {
        (Some(started), Some(pages)) => pages.region().free_threads(|| call(started)),
        (Some(started), None) => call(started),
        (None, _) => failed,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    process: *mut pid_t,
    path: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the program's own call, as it stands.
    start(c"posix_spawn", libc::ENOSYS, |spawn: Spawn| unsafe {
        spawn(process, path, actions, attributes, arguments, environment)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    process: *mut pid_t,
    file: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the program's own call, as it stands.
    start(c"posix_spawnp", libc::ENOSYS, |spawn: Spawn| unsafe {
        spawn(process, file, actions, attributes, arguments, environment)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn system(command: *const c_char) -> c_int {
    // SAFETY: the program's own call, as it stands.
    start(c"system", -1, |system: unsafe extern "C" fn(*const c_char) -> c_int| unsafe { system(command) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn popen(command: *const c_char, kind: *const c_char) -> *mut libc::FILE {
    type Popen = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE;
    // SAFETY: the program's own call, as it stands.
    start(c"popen", std::ptr::null_mut(), |popen: Popen| unsafe { popen(command, kind) })
}
