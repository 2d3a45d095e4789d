//! The times of the sealing layer: in memory that the second process shares, as long as the program runs.

use crate::clock;
use ameles_pager::options::Meters;
use ameles_seal::pages::PageMeter;
use std::sync::OnceLock;

static METERS: OnceLock<Meters> = OnceLock::new();

/// Makes the meters, before the region is made.
///
/// # Errors
/// If there is no memory for the meters.
pub(crate) fn make() -> std::io::Result<Meters> {
    let bytes = size_of::<[PageMeter; 2]>();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: requests new pages at any address. `libc::mmap` would be the function of the program.
    let at = unsafe { libc::syscall(libc::SYS_mmap, 0_usize, bytes, protection, flags, -1_isize, 0_usize) };
    if at == -1 {
        return Err(std::io::Error::last_os_error());
    }
    let meters = at as *mut PageMeter;
    // SAFETY: the pages are as long as two meters, aligned, ours alone until now, and never unmapped.
    let meters = unsafe {
        meters.write(PageMeter::new(clock::nanos));
        meters.add(1).write(PageMeter::new(clock::nanos));
        Meters { program: &*meters, worker: &*meters.add(1) }
    };
    Ok(*METERS.get_or_init(|| meters))
}

/// Nanoseconds metered so far; all 0 without meters.
#[derive(Clone, Copy, Default)]
pub(crate) struct Metered {
    pub(crate) crypto: u64,
    pub(crate) copying: u64,
    /// The times of both processes.
    pub(crate) worker: u64,
}

impl Metered {
    pub(crate) fn now() -> Self {
        METERS.get().map_or_else(Metered::default, |Meters { program, worker }| Metered {
            crypto: program.crypto_nanos(),
            copying: program.copying_nanos(),
            worker: worker.crypto_nanos() + worker.copying_nanos(),
        })
    }
}
