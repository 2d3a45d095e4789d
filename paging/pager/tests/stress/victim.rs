//! A healthy program: threads that access the same pages. In each page, every thread has a word that only it writes,
//! and all threads add to one word.

use crate::configuration::{Configuration, MAX_PAGES};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The number of operations of the kernel on the memory.
const DISTURBANCES_PER_FAULT: u64 = 4;

/// The distance between two words of a page.
const WORD_BYTES: usize = 512;

static START: AtomicUsize = AtomicUsize::new(0);
static PAGES: AtomicU64 = AtomicU64::new(0);
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Runs until a number of faults were handled.
pub(crate) fn run(configuration: &Configuration, faults: u64) {
    if !configuration.may_lock {
        let nothing = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Memlock, nothing).expect("a limit may be lowered");
        let mut may = capabilities(None).expect("this thread's own");
        may.effective.remove(CapabilitySet::IPC_LOCK);
        set_capabilities(None, may).expect("a capability may be given up");
    }
    let region = Region::new(configuration.options.clone()).expect("a region of this size fits");
    assert!(configuration.may_lock || !region.is_locked());
    START.store(region.as_slice().as_ptr() as usize, Ordering::SeqCst);
    PAGES.store(configuration.options.pages, Ordering::SeqCst);
    count_signals();
    let marks =
        OpenOptions::new().write(true).open("/proc/self/clear_refs").expect("it is this process's own");
    rustix::io::write(rustix::stdio::stdout(), b"!").expect("somebody waits for it");
    let (ended, added) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for number in 0..configuration.touching {
            let (region, ended, added) = (&region, &ended, &added);
            scope.spawn(move || {
                let adds = touch(configuration.seed, number, || {
                    if region.counters().faults >= faults {
                        ended.store(true, Ordering::SeqCst);
                    }
                    ended.load(Ordering::SeqCst)
                });
                added.fetch_add(adds, Ordering::SeqCst);
            });
        }
        let mut disturbed = 0;
        while !ended.load(Ordering::SeqCst) {
            // A few times for each fault, so that faults are handled in between.
            if disturbed <= DISTURBANCES_PER_FAULT * region.counters().faults {
                disturb(&region, &marks);
                disturbed += 1;
            }
            std::thread::yield_now();
        }
    });
    // No more signals are counted. No handler is running on another thread: they have ended.
    // SAFETY: the signal is ignored from now on.
    unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
    let sum = |which| {
        (0..configuration.options.pages).map(|page| word(page, which).load(Ordering::SeqCst)).sum::<u64>()
    };
    assert_eq!(sum(0), added.into_inner(), "WRONG DATA: what all threads have added");
    assert_eq!(sum(7), HANDLED.load(Ordering::SeqCst), "WRONG DATA: what the handler has added");
}

fn word(page: u64, which: usize) -> &'static AtomicU64 {
    let at = START.load(Ordering::Relaxed) + page as usize * PAGE_BYTES + which * WORD_BYTES;
    // SAFETY: it lies in the region, which lives as long as anybody touches it, and is aligned.
    unsafe { &*(at as *const AtomicU64) }
}

/// Returns how often it has added one to a shared word.
fn touch(seed: u64, number: u64, ended: impl Fn() -> bool) -> u64 {
    let mut rng = ChaCha12Rng::seed_from_u64(seed ^ number);
    let own = 1 + number as usize;
    let pages = PAGES.load(Ordering::SeqCst);
    let (mut expected, mut added) = ([0; MAX_PAGES as usize], 0);
    while !ended() {
        for _ in 0..16 {
            let drawn = rng.next_u64();
            let page = drawn % pages;
            let found = word(page, own).load(Ordering::Relaxed);
            assert_eq!(found, expected[page as usize], "WRONG DATA: page {page}, thread {number}");
            if drawn & (1 << 40) != 0 {
                expected[page as usize] = drawn;
                word(page, own).store(drawn, Ordering::Relaxed);
            }
            if drawn & (3 << 50) == 0 {
                added += 1;
                word(page, 0).fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    for (page, expected) in (0..pages).zip(expected) {
        assert_eq!(word(page, own).load(Ordering::Relaxed), expected, "WRONG DATA: page {page}");
    }
    added
}

/// Makes the kernel work on the process's memory while threads use it.
fn disturb(region: &Region, marks: &File) {
    // Clears the accessed bit of every page: a page changes while the pager may be moving it.
    marks.write_at(b"1", 0).expect("it may be written again and again");
    let bytes = 64 * PAGE_BYTES;
    // SAFETY: the advice loses no contents, and may be refused; a mapping of our own comes and goes.
    unsafe {
        for advice in [libc::MADV_COLD, libc::MADV_PAGEOUT] {
            libc::madvise(region.as_ptr().cast(), region.bytes(), advice);
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let mapping = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        assert_ne!(mapping, libc::MAP_FAILED);
        mapping.cast::<u8>().write_volatile(1);
        libc::munmap(mapping, bytes);
    }
}

/// Adds to a page that is usually absent.
extern "C" fn on_signal(_: libc::c_int) {
    let page = HANDLED.fetch_add(1, Ordering::SeqCst) % PAGES.load(Ordering::SeqCst);
    word(page, 7).fetch_add(1, Ordering::SeqCst);
}

fn count_signals() {
    // SAFETY: zeros is a valid action; the handler does what a handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
    }
}
