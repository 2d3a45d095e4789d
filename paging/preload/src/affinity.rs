//! The processors that a thread may run on, as the program queries and sets them. A thread that faults is bound to one
//! processor. It is unbound for the call, so that the program reads and changes the mask that was there before.

use crate::without_affinity::call_without_affinity;
use libc::{c_int, cpu_set_t, pid_t, pthread_attr_t, pthread_t, size_t};

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(thread: pid_t, bytes: size_t, set: *mut cpu_set_t) -> c_int {
    type Call = unsafe extern "C" fn(pid_t, size_t, *mut cpu_set_t) -> c_int;
    // SAFETY: the program's own call, as it stands.
    call_without_affinity(c"sched_getaffinity", -1, |call: Call| unsafe { call(thread, bytes, set) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_setaffinity(thread: pid_t, bytes: size_t, set: *const cpu_set_t) -> c_int {
    type Call = unsafe extern "C" fn(pid_t, size_t, *const cpu_set_t) -> c_int;
    // SAFETY: the program's own call, as it stands.
    call_without_affinity(c"sched_setaffinity", -1, |call: Call| unsafe { call(thread, bytes, set) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getaffinity_np(thread: pthread_t, bytes: size_t, set: *mut cpu_set_t) -> c_int {
    type Call = unsafe extern "C" fn(pthread_t, size_t, *mut cpu_set_t) -> c_int;
    // SAFETY: the program's own call, as it stands.
    call_without_affinity(c"pthread_getaffinity_np", libc::ENOSYS, |call: Call| unsafe {
        call(thread, bytes, set)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setaffinity_np(
    thread: pthread_t,
    bytes: size_t,
    set: *const cpu_set_t,
) -> c_int {
    type Call = unsafe extern "C" fn(pthread_t, size_t, *const cpu_set_t) -> c_int;
    // SAFETY: the program's own call, as it stands.
    call_without_affinity(c"pthread_setaffinity_np", libc::ENOSYS, |call: Call| unsafe {
        call(thread, bytes, set)
    })
}

/// The attributes contain the processors too.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getattr_np(thread: pthread_t, attributes: *mut pthread_attr_t) -> c_int {
    type Call = unsafe extern "C" fn(pthread_t, *mut pthread_attr_t) -> c_int;
    // SAFETY: the program's own call, as it stands.
    call_without_affinity(c"pthread_getattr_np", libc::ENOSYS, |call: Call| unsafe {
        call(thread, attributes)
    })
}
