//! The system's allocator, told to give back what it does not use.
//!
//! Blocks are allocated on one thread and freed on another. glibc answers that with sixteen arenas that are mostly empty,
//! and keeps large buffers for later: under the load of 64 clients five times as much memory was resident as was in use.

/// Sets its bounds. To be called while there is one thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn set_limits() {
    /// The number of arenas: as many as threads that allocate at a time on a small machine.
    const ARENAS: libc::c_int = 2;
    /// A batch of blocks stays within an arena, a checkpoint goes back to the system when it is freed.
    const OWN_MAPPING_BYTES: libc::c_int = 1 << 20;
    const SPARE_BYTES: libc::c_int = 4 << 20;
    for (set_limits, value) in [
        (libc::M_ARENA_MAX, ARENAS),
        (libc::M_MMAP_THRESHOLD, OWN_MAPPING_BYTES),
        (libc::M_TRIM_THRESHOLD, SPARE_BYTES),
    ] {
        #[allow(
            unsafe_code,
            reason = "nothing else sets an allocator's bounds for the process that it runs in"
        )]
        // SAFETY: no other thread allocates meanwhile, and a value that is refused changes nothing.
        unsafe {
            libc::mallopt(set_limits, value);
        }
    }
}

/// Other allocators are taken as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn set_limits() {}
