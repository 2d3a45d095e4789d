//! Child programs that share nothing of the region: by `posix_spawn`, `system` and `popen`. They may run on every
//! processor that the program might run on.

use crate::region_pages::pages;
use crate::report;
use crate::without_affinity::call_without_affinity;
use libc::{c_char, c_int, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};
use std::ffi::CStr;

type Spawn = unsafe extern "C" fn(
    *mut pid_t,
    *const c_char,
    *const posix_spawn_file_actions_t,
    *const posix_spawnattr_t,
    *const *mut c_char,
    *const *mut c_char,
) -> c_int;

/// The program that `system` and `popen` start.
const SHELL: &CStr = c"sh";

/// Counts a started program.
fn count_started<'a>(was_started: bool, name: impl FnOnce() -> &'a CStr) {
    if was_started && pages().is_some() {
        report::program_started(name());
    }
}

/// Defines a function that starts a program, by its name as an identifier and as a C string.
macro_rules! define_spawn {
    ($function:ident, $name:literal) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function(
            process: *mut pid_t,
            program: *const c_char,
            actions: *const posix_spawn_file_actions_t,
            attributes: *const posix_spawnattr_t,
            arguments: *const *mut c_char,
            environment: *const *mut c_char,
        ) -> c_int {
            // SAFETY: the program's own call, as it stands.
            let refused = call_without_affinity($name, libc::ENOSYS, |spawn: Spawn| unsafe {
                spawn(process, program, actions, attributes, arguments, environment)
            });
            // SAFETY: a program that was started has a name.
            count_started(refused == 0, || unsafe { CStr::from_ptr(program) });
            refused
        }
    };
}
define_spawn!(posix_spawn, c"posix_spawn");
define_spawn!(posix_spawnp, c"posix_spawnp");

#[unsafe(no_mangle)]
unsafe extern "C" fn system(command: *const c_char) -> c_int {
    // SAFETY: the program's own call, as it stands.
    let ended =
        call_without_affinity(c"system", -1, |system: unsafe extern "C" fn(*const c_char) -> c_int| unsafe {
            system(command)
        });
    count_started(!command.is_null() && ended != -1, || SHELL);
    ended
}

#[unsafe(no_mangle)]
unsafe extern "C" fn popen(command: *const c_char, kind: *const c_char) -> *mut libc::FILE {
    type Popen = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE;
    // SAFETY: the program's own call, as it stands.
    let pipe =
        call_without_affinity(c"popen", std::ptr::null_mut(), |popen: Popen| unsafe { popen(command, kind) });
    count_started(!pipe.is_null(), || SHELL);
    pipe
}
