//! The limits of the system's allocator, so that it returns unused memory.
//!
//! Blocks are allocated on one thread and freed on another. glibc then uses sixteen mostly empty arenas and keeps large
//! buffers. With 64 clients, five times as much memory was resident as in use.

/// Sets the limits. Call it while there is only one thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn set_limits() {
    /// The number of arenas: about the number of threads that allocate at a time on a small machine.
    const ARENAS: libc::c_int = 2;
    /// A batch of blocks fits in an arena; a checkpoint is returned to the system when it is freed.
    const OWN_MAPPING_BYTES: libc::c_int = 1 << 20;
    const SPARE_BYTES: libc::c_int = 4 << 20;
    for (limit, value) in [
        (libc::M_ARENA_MAX, ARENAS),
        (libc::M_MMAP_THRESHOLD, OWN_MAPPING_BYTES),
        (libc::M_TRIM_THRESHOLD, SPARE_BYTES),
    ] {
        #[allow(unsafe_code, reason = "there is no safe way to set the limits of the allocator")]
        // SAFETY: no other thread allocates meanwhile, and a refused value changes nothing.
        unsafe {
            libc::mallopt(limit, value);
        }
    }
}

/// Other allocators keep their defaults.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn set_limits() {}
