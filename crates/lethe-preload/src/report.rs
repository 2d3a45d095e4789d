//! What the pager counted, for whoever runs the program: written when the program ends, or when it has had as many
//! faults as were asked for.

use crate::clock;
use crate::meters::Metered;
use crate::region_pages::pages;
use lethe_pager::after_fault::Tell;
use lethe_pager::fault::counters::Counters;
use lethe_pager::region::Region;
use libc::c_int;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Where to.
static INTO: OnceLock<OwnedFd> = OnceLock::new();
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// What does not change as long as the program runs.
static FIXED: OnceLock<Fixed> = OnceLock::new();
/// Where counting begins, once it has.
static BEGIN: OnceLock<Moment> = OnceLock::new();

struct Fixed {
    process: u32,
    trusted_bytes: usize,
    heap_bytes: usize,
    threads: usize,
}

/// What stood at one moment.
struct Moment {
    nanos: u64,
    counters: Counters,
    metered: Metered,
}

impl Moment {
    fn now(counters: Counters) -> Self {
        Moment { nanos: clock::nanos(), counters, metered: Metered::now() }
    }
}

/// Which faults are counted. All of them, unless told otherwise.
#[derive(Clone, Copy, Default)]
pub(crate) struct Window {
    /// Faults before counting begins.
    pub(crate) warm: u64,
    /// Faults that are counted. After the last of them the program is ended.
    pub(crate) faults: Option<u64>,
}

impl Window {
    /// To be called after every fault, if there is anything to be done after one.
    pub(crate) fn after_fault(self) -> Option<Tell> {
        let Window { warm, faults } = self;
        let last = faults.map(|faults| warm.saturating_add(faults));
        if (warm, last) == (0, None) {
            return None;
        }
        Some(Arc::new(move |counters| {
            if counters.faults == warm {
                begin(*counters);
            } else if Some(counters.faults) == last {
                write(*counters);
                // SAFETY: ends the process, and with it this call.
                unsafe { libc::syscall(libc::SYS_exit_group, 0) };
            }
        }))
    }
}

fn begin(counters: Counters) {
    let _ = BEGIN.set(Moment::now(counters));
}

/// Where to write.
pub(crate) fn into(file: Option<OwnedFd>) {
    if let Some(file) = file {
        let _ = INTO.set(file);
    }
}

/// What is there before the figures: whether the program was begun paged, or not begun at all.
fn mark(mark: u8) {
    if let Some(into) = INTO.get() {
        // SAFETY: the byte is there. Without a reader there is nothing to be done about a failure.
        unsafe { libc::pwrite(into.as_raw_fd(), (&raw const mark).cast(), 1, 0) };
    }
}

/// The region could not be made, and it was said why.
pub(crate) fn refused() {
    mark(b'r');
}

/// The region stands, and nobody has touched it yet.
pub(crate) fn region_stands(region: &Region, window: Window) {
    mark(b's');
    let _ = FIXED.set(Fixed {
        process: std::process::id(),
        trusted_bytes: region.trusted_bytes(),
        heap_bytes: region.bytes(),
        threads: region.threads(),
    });
    if window.warm == 0 {
        begin(Counters::default());
    }
}

/// Writes what was counted since counting began, once: eight bytes each, little-endian, as `lethe page run` reads them.
fn write(counters: Counters) {
    let end = Moment::now(counters);
    let (Some(into), Some(fixed)) = (INTO.get(), FIXED.get()) else { return };
    if WRITTEN.swap(true, Ordering::Relaxed) {
        return;
    }
    // A program that ended before has no faults that count.
    let begin = BEGIN.get().unwrap_or(&end);
    let counted = |of: fn(&Counters) -> u64| of(&end.counters) - of(&begin.counters);
    let figures = [
        counted(|counters| counters.faults),
        counted(|counters| counters.evictions),
        counted(|counters| counters.soft_faults),
        end.nanos - begin.nanos,
        counted(|counters| counters.total_nanos),
        counted(|counters| counters.frames_nanos),
        counted(|counters| counters.write_nanos),
        counted(|counters| counters.read_nanos),
        counted(|counters| counters.idle_nanos),
        end.metered.crypto - begin.metered.crypto,
        end.metered.copying - begin.metered.copying,
        end.metered.beside - begin.metered.beside,
        fixed.trusted_bytes as u64,
        fixed.heap_bytes as u64,
        fixed.threads as u64,
    ]
    .map(u64::to_le_bytes);
    let bytes = figures.as_flattened();
    // SAFETY: the bytes are there. Without a reader there is nothing to be done about a failure.
    unsafe { libc::pwrite(into.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_THE_END: extern "C" fn() = at_the_end;

extern "C" fn at_the_end() {
    // A child of `vfork` that ends without `exec` comes by here too, in the memory of the program, which goes on.
    let is_program = FIXED.get().is_some_and(|fixed| fixed.process == std::process::id());
    if let Some(pages) = pages().filter(|_| is_program) {
        write(pages.region().counters());
    }
}

/// A program that leaves without ending properly is counted too.
#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(code: c_int) -> ! {
    at_the_end();
    // SAFETY: ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, code) };
    std::process::abort()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Exit(code: c_int) -> ! {
    // SAFETY: the same call by its other name.
    unsafe { _exit(code) }
}
