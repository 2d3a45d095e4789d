//! The counts of the pager, for whoever runs the program, in a page that both map: at the end of the program, when it
//! has had as many faults as were asked for, and now and then before, for programs that end in another way.

use crate::clock;
use crate::meters::Metered;
use crate::page::PAGE;
use crate::region_pages::{RegionPages, pages};
use crate::unpaged;
use ameles_pager::after_fault::Tell;
use ameles_pager::fault::counters::Counters;
use ameles_pager::region::Region;
use libc::c_int;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Faults between two looks.
const NOTED: u64 = 64;

/// The board that `ameles` reads: words of eight bytes in the machine's order, in this one.
#[repr(C)]
struct Board {
    state: AtomicU64,
    figures: [AtomicU64; 15],
    /// The most that the region held at a time.
    paged_bytes: AtomicU64,
    /// The bytes that lay elsewhere, when they were looked at last.
    unpaged_bytes: AtomicU64,
    /// Programs that were started.
    children: AtomicU64,
    /// Children by `fork`, which are paged too, and their children.
    forks: AtomicU64,
    /// The faults of those that have ended.
    faults_of_forks: AtomicU64,
    /// Their evictions.
    evictions_of_forks: AtomicU64,
    /// Pages that might be resident at the end.
    resident: AtomicU64,
    /// As many as would have halved the faults; 0 if none would have, or that is not known.
    halving: AtomicU64,
    /// The name of the first of them, or of the program that this one made way for: as much of it as there is room for.
    name: [AtomicU64; NAME_WORDS],
}

const NAME_WORDS: usize = 8;

/// The states of a board.
const REFUSED: u64 = b'r' as u64;
const BEGUN: u64 = b's' as u64;
const ENDED: u64 = b'e' as u64;
const MADE_WAY: u64 = b'x' as u64;

/// The board that is written to.
static BOARD: OnceLock<&'static Board> = OnceLock::new();
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// The number of this process, if it is a child by `fork`, and its faults and evictions that were added up.
static FORKED: AtomicU32 = AtomicU32::new(0);
static ADDED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The figures that do not change as long as the program runs.
static FIXED: OnceLock<Fixed> = OnceLock::new();
/// The moment at which counting began, once it has.
static BEGIN: OnceLock<Moment> = OnceLock::new();

struct Fixed {
    process: u32,
    trusted_bytes: usize,
    heap_bytes: usize,
    threads: usize,
    resident: u64,
}

/// The figures of one moment.
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

/// The faults that are counted. All of them, unless told otherwise.
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
        BOARD.get()?;
        Some(Arc::new(move |counters| {
            if counters.faults == warm {
                begin(*counters);
            } else if Some(counters.faults) == last {
                finish(*counters);
                // SAFETY: ends the process, and with it this call.
                unsafe { libc::syscall(libc::SYS_exit_group, 0) };
            } else if counters.faults.is_multiple_of(NOTED) {
                note(*counters);
            }
        }))
    }
}

/// This process is a child by `fork` from now on, and its figures are told apart from the program's.
pub(crate) fn is_forked() {
    FORKED.store(std::process::id(), Ordering::Relaxed);
    ADDED.iter().for_each(|added| added.store(0, Ordering::Relaxed));
    if let Some(board) = BOARD.get() {
        board.forks.fetch_add(1, Ordering::Relaxed);
    }
}

/// Adds up what a child by `fork` has counted, when it ends or runs another program.
fn add_fork() {
    let is_due = FORKED.load(Ordering::Relaxed) == std::process::id();
    let (Some(board), Some(pages)) = (BOARD.get(), pages().filter(|_| is_due)) else { return };
    let Counters { faults, evictions, .. } = pages.region().counters();
    for (at, (place, now)) in
        [(&board.faults_of_forks, faults), (&board.evictions_of_forks, evictions)].into_iter().enumerate()
    {
        place.fetch_add(now - ADDED[at].swap(now, Ordering::Relaxed), Ordering::Relaxed);
    }
}

fn begin(counters: Counters) {
    let _ = BEGIN.set(Moment::now(counters));
}

/// Maps the page that is written to. Without it nothing is.
pub(crate) fn into(file: c_int) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let bytes = size_of::<Board>();
    // SAFETY: asks for a mapping wherever there is room. `libc::mmap` would be the program's. The descriptor was
    // inherited for this alone.
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
        // SAFETY: a page that stays for ever, and holds words that may have any value.
        let _ = BOARD.set(unsafe { &*(at as *const Board) });
    }
}

fn set_state(state: u64) {
    if let Some(board) = BOARD.get() {
        board.state.store(state, Ordering::SeqCst);
    }
}

/// The region could not be made, and it was said why.
pub(crate) fn refused() {
    set_state(REFUSED);
}

/// The region stands, and nobody has touched it yet.
pub(crate) fn region_stands(region: &Region, window: Window) {
    set_state(BEGUN);
    let _ = FIXED.set(Fixed {
        process: std::process::id(),
        trusted_bytes: region.trusted_bytes(),
        heap_bytes: region.bytes(),
        threads: region.threads(),
        resident: region.options().resident as u64,
    });
    if window.warm == 0 {
        begin(Counters::default());
    }
}

/// Writes what was counted since counting began, for the last time.
fn finish(counters: Counters) {
    if BOARD.get().is_none() || WRITTEN.swap(true, Ordering::Relaxed) {
        return;
    }
    note(counters);
    note_unpaged();
    set_state(ENDED);
}

/// Notes the number that would have halved the faults. Who calls it must not have the region's lock.
fn note_halving(pages: &RegionPages) {
    if let Some(board) = BOARD.get() {
        board.halving.store(pages.region().halving().unwrap_or(0), Ordering::Relaxed);
    }
}

fn note_unpaged() {
    if let (Some(board), Some(bytes)) = (BOARD.get(), unpaged::bytes()) {
        // Stacks that have outgrown the region lie among its mappings.
        let spilt = pages().map_or(0, |pages| pages.region().spilled_pages() * PAGE as u64);
        board.unpaged_bytes.store(bytes + spilt, Ordering::Relaxed);
    }
}

/// Writes what was counted since counting began.
fn note(counters: Counters) {
    let end = Moment::now(counters);
    let (Some(board), Some(fixed)) = (BOARD.get(), FIXED.get()) else { return };
    // A program that ended before has no faults that count.
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
        end.metered.beside - begin.metered.beside,
        fixed.trusted_bytes as u64 + more_resident * PAGE as u64,
        fixed.heap_bytes as u64,
        fixed.threads as u64,
    ];
    for (place, figure) in board.figures.iter().zip(figures) {
        place.store(figure, Ordering::Relaxed);
    }
    board.resident.store(fixed.resident + more_resident, Ordering::Relaxed);
    board.paged_bytes.store(counters.max_held_pages * PAGE as u64, Ordering::Relaxed);
}

/// The kind of a program that is about to run another file.
pub(crate) enum Told {
    Program,
    Child,
}

/// A program is about to run another file: the one that is paged, or a child of it before its own program runs.
pub(crate) fn makes_way(file: &CStr) -> Told {
    let Some(pages) = pages().filter(|_| is_program()) else {
        add_fork();
        started(file);
        return Told::Child;
    };
    note(pages.region().counters());
    note_halving(pages);
    note_unpaged();
    name(file);
    set_state(MADE_WAY);
    Told::Program
}

/// The file could not be run.
pub(crate) fn stays(told: Told) {
    match (told, BOARD.get()) {
        (Told::Program, _) => set_state(BEGUN),
        (Told::Child, Some(board)) => {
            board.children.fetch_sub(1, Ordering::Relaxed);
        }
        (Told::Child, None) => {}
    }
}

/// A program is started, which is not paged.
pub(crate) fn started(file: &CStr) {
    if let Some(board) = BOARD.get()
        && board.children.fetch_add(1, Ordering::Relaxed) == 0
    {
        name(file);
    }
}

fn name(file: &CStr) {
    let Some(board) = BOARD.get() else { return };
    let last = file.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let mut bytes = [0; NAME_WORDS * 8];
    let len = last.len().min(bytes.len());
    bytes[..len].copy_from_slice(&last[..len]);
    for (place, word) in board.name.iter().zip(bytes.as_chunks::<8>().0) {
        place.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
    }
}

/// Tells whether this process is the one that is paged: a child of `vfork` has its memory too.
fn is_program() -> bool {
    FIXED.get().is_some_and(|fixed| fixed.process == std::process::id())
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_THE_END: extern "C" fn() = at_the_end;

pub(crate) extern "C" fn at_the_end() {
    // A child of `vfork` that ends without `exec` comes by here too, in the memory of the program, which goes on.
    // And whoever ends after its last fault holds the region's lock.
    let is_due = is_program() && !WRITTEN.load(Ordering::Relaxed);
    if let Some(pages) = pages().filter(|_| is_due) {
        note_halving(pages);
        finish(pages.region().counters());
    }
    add_fork();
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
