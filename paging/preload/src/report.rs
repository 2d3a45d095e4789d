//! The pager's figures for the person who runs the program, in a page that both map. They are written at the end of the
//! program and after a requested number of faults. Some programs end in another way: for these, they are also written
//! earlier.

use crate::clock;
use crate::meters::Metered;
use crate::page::PAGE;
use crate::region_pages::{RegionPages, pages};
use crate::unpaged_memory;
use ameles_pager::after_fault::FaultListener;
use ameles_pager::fault::counters::Counters;
use ameles_pager::region::Region;
use libc::c_int;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The number of faults between two updates.
const FAULTS_PER_UPDATE: u64 = 64;

/// The page that `ameles` reads: words of eight bytes in native byte order, in this order.
#[repr(C)]
struct ReportPage {
    state: AtomicU64,
    figures: [AtomicU64; 15],
    /// The maximum number of bytes that were in the region at a time.
    paged_bytes: AtomicU64,
    /// The bytes outside of the region, at the last check.
    unpaged_bytes: AtomicU64,
    /// Started programs.
    children: AtomicU64,
    /// Children by `fork`, which are paged too, and their children.
    forks: AtomicU64,
    /// The number of faults of the forks that have ended.
    faults_of_forks: AtomicU64,
    /// The evictions of the forks.
    evictions_of_forks: AtomicU64,
    /// The limit of resident pages at the end.
    resident: AtomicU64,
    /// The number that would have halved the faults; 0 if there is none, or it is unknown.
    resident_for_half_the_faults: AtomicU64,
    /// The name of the first started program, or of the one that replaced this one: as much of it as fits.
    name: [AtomicU64; NAME_WORDS],
}

const NAME_WORDS: usize = 8;

/// The states of the report.
const REFUSED: u64 = b'r' as u64;
const RUNNING: u64 = b's' as u64;
const ENDED: u64 = b'e' as u64;
const EXECED: u64 = b'x' as u64;

/// The page that is written to.
static REPORT_PAGE: OnceLock<&'static ReportPage> = OnceLock::new();
static FINISHED: AtomicBool = AtomicBool::new(false);

/// The number of this process, if it is a child by `fork`, and its faults and evictions that were added up.
static FORKED: AtomicU32 = AtomicU32::new(0);
static ADDED_COUNTS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The figures that do not change while the program runs.
static FIXED_FIGURES: OnceLock<FixedFigures> = OnceLock::new();
/// The time when counting began, once it has.
static BEGIN: OnceLock<Snapshot> = OnceLock::new();

struct FixedFigures {
    process: u32,
    trusted_bytes: usize,
    heap_bytes: usize,
    threads: usize,
    resident: u64,
}

/// The figures at one time.
struct Snapshot {
    nanos: u64,
    counters: Counters,
    metered: Metered,
}

impl Snapshot {
    fn now(counters: Counters) -> Self {
        Snapshot { nanos: clock::nanos(), counters, metered: Metered::now() }
    }
}

/// The faults that are counted. By default all.
#[derive(Clone, Copy, Default)]
pub(crate) struct FaultWindow {
    /// The number of faults before counting begins.
    pub(crate) warm_up_faults: u64,
    /// The number of counted faults. After the last of them the program is ended.
    pub(crate) faults: Option<u64>,
}

impl FaultWindow {
    /// Returns the function to call after every fault, if there is anything to do after faults.
    pub(crate) fn after_fault(self) -> Option<FaultListener> {
        let FaultWindow { warm_up_faults, faults } = self;
        let last = faults.map(|faults| warm_up_faults.saturating_add(faults));
        REPORT_PAGE.get()?;
        Some(Arc::new(move |counters| {
            if counters.faults == warm_up_faults {
                begin_counting(*counters);
            } else if Some(counters.faults) == last {
                finish(*counters);
                // SAFETY: ends the process, and this call with it.
                unsafe { libc::syscall(libc::SYS_exit_group, 0) };
            } else if counters.faults.is_multiple_of(FAULTS_PER_UPDATE) {
                write_figures(*counters);
            }
        }))
    }
}

/// Makes this process a child by `fork`, whose figures are separate from those of the program.
pub(crate) fn on_forked() {
    FORKED.store(std::process::id(), Ordering::Relaxed);
    ADDED_COUNTS.iter().for_each(|added| added.store(0, Ordering::Relaxed));
    if let Some(page) = REPORT_PAGE.get() {
        page.forks.fetch_add(1, Ordering::Relaxed);
    }
}

/// Adds the counts of a child by `fork`, when it ends or runs another program.
fn add_fork_counts() {
    let is_due = FORKED.load(Ordering::Relaxed) == std::process::id();
    let (Some(page), Some(pages)) = (REPORT_PAGE.get(), pages().filter(|_| is_due)) else { return };
    let Counters { faults, evictions, .. } = pages.region().counters();
    for (at, (place, now)) in
        [(&page.faults_of_forks, faults), (&page.evictions_of_forks, evictions)].into_iter().enumerate()
    {
        place.fetch_add(now - ADDED_COUNTS[at].swap(now, Ordering::Relaxed), Ordering::Relaxed);
    }
}

fn begin_counting(counters: Counters) {
    let _ = BEGIN.set(Snapshot::now(counters));
}

/// Maps the page of the report. Without this page nothing is written.
pub(crate) fn map_report_page(file: c_int) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let bytes = size_of::<ReportPage>();
    // SAFETY: requests a mapping at any address. `libc::mmap` would be the function of the program. The descriptor was
    // inherited for this only.
    let at = unsafe {
        let at = libc::syscall(
            libc::SYS_mmap,
            0_usize,
            bytes,
            protection,
            libc::MAP_SHARED,
            file as isize,
            0_usize,
        );
        libc::close(file);
        at
    };
    if at != -1 {
        // SAFETY: a page that is never unmapped, and holds words that may have any value.
        let _ = REPORT_PAGE.set(unsafe { &*(at as *const ReportPage) });
    }
}

fn set_state(state: u64) {
    if let Some(page) = REPORT_PAGE.get() {
        page.state.store(state, Ordering::SeqCst);
    }
}

/// Records that the region could not be made, and the reason was printed.
pub(crate) fn set_refused() {
    set_state(REFUSED);
}

/// Records that the region exists, and was not accessed yet.
pub(crate) fn on_region_ready(region: &Region, window: FaultWindow) {
    set_state(RUNNING);
    let _ = FIXED_FIGURES.set(FixedFigures {
        process: std::process::id(),
        trusted_bytes: region.trusted_bytes(),
        heap_bytes: region.bytes(),
        threads: region.threads(),
        resident: region.options().resident as u64,
    });
    if window.warm_up_faults == 0 {
        begin_counting(Counters::default());
    }
}

/// Writes the counts since counting began, for the last time.
fn finish(counters: Counters) {
    if REPORT_PAGE.get().is_none() || FINISHED.swap(true, Ordering::Relaxed) {
        return;
    }
    write_figures(counters);
    write_unpaged();
    set_state(ENDED);
}

/// Writes the number that would have halved the faults. The caller must not hold the region's lock.
fn write_halving(pages: &RegionPages) {
    if let Some(page) = REPORT_PAGE.get() {
        page.resident_for_half_the_faults
            .store(pages.region().resident_for_half_the_faults().unwrap_or(0), Ordering::Relaxed);
    }
}

fn write_unpaged() {
    if let (Some(page), Some(bytes)) = (REPORT_PAGE.get(), unpaged_memory::bytes()) {
        // Stacks that did not fit the region are among its mappings.
        let spilled = pages().map_or(0, |pages| pages.region().spilled_pages() * PAGE as u64);
        page.unpaged_bytes.store(bytes + spilled, Ordering::Relaxed);
    }
}

/// Writes the counts since counting began.
fn write_figures(counters: Counters) {
    let end = Snapshot::now(counters);
    let (Some(page), Some(fixed)) = (REPORT_PAGE.get(), FIXED_FIGURES.get()) else { return };
    // A program that ended before has no counted faults.
    let begin = BEGIN.get().unwrap_or(&end);
    let counted = |of: fn(&Counters) -> u64| of(&end.counters) - of(&begin.counters);
    let more_resident = counters.max_resident.saturating_sub(fixed.resident);
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
        end.metered.worker - begin.metered.worker,
        fixed.trusted_bytes as u64 + more_resident * PAGE as u64,
        fixed.heap_bytes as u64,
        fixed.threads as u64,
    ];
    for (place, figure) in page.figures.iter().zip(figures) {
        place.store(figure, Ordering::Relaxed);
    }
    page.resident.store(fixed.resident + more_resident, Ordering::Relaxed);
    page.paged_bytes.store(counters.max_held_pages * PAGE as u64, Ordering::Relaxed);
}

/// The kind of a program that is about to run another file.
pub(crate) enum ExecCaller {
    Program,
    Child,
}

/// Records that a program is about to run another file: the paged one, or a child of it before its own program runs.
pub(crate) fn before_exec(file: &CStr) -> ExecCaller {
    let Some(pages) = pages().filter(|_| is_program()) else {
        add_fork_counts();
        program_started(file);
        return ExecCaller::Child;
    };
    write_figures(pages.region().counters());
    write_halving(pages);
    write_unpaged();
    write_name(file);
    set_state(EXECED);
    ExecCaller::Program
}

/// Records that the file could not be run.
pub(crate) fn exec_failed(caller: ExecCaller) {
    match (caller, REPORT_PAGE.get()) {
        (ExecCaller::Program, _) => set_state(RUNNING),
        (ExecCaller::Child, Some(page)) => {
            page.children.fetch_sub(1, Ordering::Relaxed);
        }
        (ExecCaller::Child, None) => {}
    }
}

/// Records a started program, which is not paged.
pub(crate) fn program_started(file: &CStr) {
    if let Some(page) = REPORT_PAGE.get()
        && page.children.fetch_add(1, Ordering::Relaxed) == 0
    {
        write_name(file);
    }
}

fn write_name(file: &CStr) {
    let Some(page) = REPORT_PAGE.get() else { return };
    let last = file.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let mut bytes = [0; NAME_WORDS * 8];
    let len = last.len().min(bytes.len());
    bytes[..len].copy_from_slice(&last[..len]);
    for (place, word) in page.name.iter().zip(bytes.as_chunks::<8>().0) {
        place.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
    }
}

/// Returns whether this process is the paged one: a child of `vfork` has its memory too.
fn is_program() -> bool {
    FIXED_FIGURES.get().is_some_and(|fixed| fixed.process == std::process::id())
}

#[used]
#[unsafe(link_section = ".fini_array")]
static ON_EXIT: extern "C" fn() = on_exit;

pub(crate) extern "C" fn on_exit() {
    // A child of `vfork` that ends without `exec` calls this too, in the memory of the program, which continues.
    // And a thread that ends the program after its last fault holds the region's lock.
    let is_due = is_program() && !FINISHED.load(Ordering::Relaxed);
    if let Some(pages) = pages().filter(|_| is_due) {
        write_halving(pages);
        finish(pages.region().counters());
    }
    add_fork_counts();
}

/// Ends the process without exit handlers, and counts it.
#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(code: c_int) -> ! {
    on_exit();
    // SAFETY: ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, code) };
    std::process::abort()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Exit(code: c_int) -> ! {
    // SAFETY: the same call by its other name.
    unsafe { _exit(code) }
}
