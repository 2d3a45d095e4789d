//! What the pager counted, for whoever runs the program: written when the program ends.

use crate::region_pages::pages;
use libc::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where to: a descriptor that nobody else knows, high enough that programs which close theirs leave it alone.
static INTO: OnceLock<c_int> = OnceLock::new();
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// Takes the descriptor that was inherited.
pub(crate) fn into(descriptor: c_int) {
    // SAFETY: duplicates an open descriptor, or fails.
    let high = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 900) };
    // SAFETY: it was inherited for nothing else.
    unsafe { libc::close(descriptor) };
    if high >= 0 {
        let _ = INTO.set(high);
    }
}

/// Writes the counters, once: eight bytes each, little-endian, as `lethe page run` reads them.
pub(crate) fn write() {
    let (Some(into), Some(pages)) = (INTO.get(), pages()) else { return };
    if WRITTEN.swap(true, Ordering::Relaxed) {
        return;
    }
    let counters = pages.region().counters();
    let figures = [
        counters.faults,
        counters.evictions,
        counters.soft_faults,
        counters.total_nanos,
        counters.frames_nanos,
        counters.write_nanos,
        counters.read_nanos,
        counters.idle_nanos,
        pages.region().trusted_bytes() as u64,
        pages.region().bytes() as u64,
    ];
    let bytes: Vec<u8> = figures.iter().flat_map(|figure| figure.to_le_bytes()).collect();
    // SAFETY: the bytes are there. Without a reader there is nothing to be done about a failure.
    unsafe { libc::pwrite(*into, bytes.as_ptr().cast(), bytes.len(), 0) };
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_THE_END: extern "C" fn() = at_the_end;

extern "C" fn at_the_end() {
    write();
}

/// A program that leaves without ending properly is counted too.
#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(code: c_int) -> ! {
    write();
    // SAFETY: ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, code) };
    std::process::abort()
}
