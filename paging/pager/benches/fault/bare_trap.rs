//! A fault that moves one page out and one in. It has no lock and no scheme, and only the victim's number as
//! bookkeeping: the minimal cost of a trap.
#![allow(unsafe_code, reason = "a bare signal handler and bare ioctls")]

use super::{FAULTS, PAGES, RESIDENT};
use ameles_pager::page::PAGE_BYTES;
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::Instant;

const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_COPY: libc::c_ulong = 0xc028_aa03;
const UFFDIO_MOVE: libc::c_ulong = 0xc028_aa05;
const FEATURE_SIGBUS: u64 = 1 << 7;
const FEATURE_MOVE: u64 = 1 << 16;

static UFFD: AtomicI32 = AtomicI32::new(-1);
static START: AtomicUsize = AtomicUsize::new(0);
static HANDLED: AtomicUsize = AtomicUsize::new(0);

/// Microseconds a fault.
pub(super) fn in_thread() -> f64 {
    let start = map(FEATURE_SIGBUS);
    // SAFETY: zeros is a valid action; the handler moves pages of this file's mapping only.
    let micros = unsafe {
        let mut action: libc::sigaction = zeroed();
        let mut before: libc::sigaction = zeroed();
        action.sa_sigaction = on_sigbus as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigfillset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, &mut before);
        let micros = touch(start);
        libc::sigaction(libc::SIGBUS, &before, ptr::null_mut());
        micros
    };
    unmap(start);
    micros
}

/// Returns the number of microseconds for each fault while another thread of the process runs on another processor.
/// Each move of a page then has to interrupt that processor, whose translations may be stale.
pub(super) fn in_thread_with_busy_thread() -> f64 {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let micros = in_thread();
        ended.store(true, Ordering::Relaxed);
        micros
    })
}

/// Microseconds a fault.
pub(super) fn handler_thread() -> f64 {
    let start = map(0);
    let mut stop = [0; 2];
    // SAFETY: it fills two descriptors.
    assert_eq!(unsafe { libc::pipe(stop.as_mut_ptr()) }, 0);
    let micros = std::thread::scope(|scope| {
        scope.spawn(|| answer(stop[0]));
        let micros = touch(start);
        // SAFETY: the descriptor is ours, and this ends the thread.
        unsafe { libc::close(stop[1]) };
        micros
    });
    // SAFETY: the descriptor is ours.
    unsafe { libc::close(stop[0]) };
    unmap(start);
    micros
}

/// The pages, and a frame behind them.
fn map(features: u64) -> usize {
    let bytes = (PAGES + 1) * PAGE_BYTES;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping and a new descriptor; the arguments are what the ioctls take.
    unsafe {
        let start = libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE);
        let uffd = libc::syscall(libc::SYS_userfaultfd, libc::O_NONBLOCK | libc::O_CLOEXEC) as i32;
        assert_eq!(libc::ioctl(uffd, UFFDIO_API, &mut [0xaa, features | FEATURE_MOVE, 0u64]), 0);
        assert_eq!(libc::ioctl(uffd, UFFDIO_REGISTER, &mut [start as u64, bytes as u64, 1, 0]), 0);
        UFFD.store(uffd, Ordering::SeqCst);
        START.store(start as usize, Ordering::SeqCst);
        HANDLED.store(0, Ordering::SeqCst);
        start as usize
    }
}

fn unmap(start: usize) {
    // SAFETY: both are ours, and nobody uses them any more.
    unsafe {
        libc::close(UFFD.load(Ordering::SeqCst));
        libc::munmap(start as *mut _, (PAGES + 1) * PAGE_BYTES);
    }
}

/// Touches the pages in turn: the nth fault is that of page n.
fn touch(start: usize) -> f64 {
    // SAFETY: within the mapping.
    let touch = |nth: usize| unsafe {
        let page = (start + nth % PAGES * PAGE_BYTES) as *mut u8;
        page.write_volatile(page.read_volatile().wrapping_add(1));
    };
    (0..PAGES + RESIDENT).for_each(touch);
    let begin = Instant::now();
    (PAGES + RESIDENT..PAGES + RESIDENT + FAULTS).for_each(touch);
    begin.elapsed().as_secs_f64() * 1e6 / FAULTS as f64
}

fn handle() {
    let nth = HANDLED.fetch_add(1, Ordering::Relaxed);
    let (start, uffd) = (START.load(Ordering::Relaxed), UFFD.load(Ordering::Relaxed));
    let at = |page: usize| (start + page * PAGE_BYTES) as u64;
    let transfer = |request, to, from, mode| {
        // SAFETY: a `uffdio_move` or `uffdio_copy` within the mapping, or from a page of zeros.
        let done = unsafe { libc::ioctl(uffd, request, &mut [to, from, PAGE_BYTES as u64, mode, 0]) };
        assert_eq!(done, 0);
    };
    static ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];
    if nth < RESIDENT {
        transfer(UFFDIO_COPY, at(nth), ZEROS.as_ptr() as u64, 0);
    } else {
        transfer(UFFDIO_MOVE, at(PAGES), at((nth - RESIDENT) % PAGES), 1);
        transfer(UFFDIO_MOVE, at(nth % PAGES), at(PAGES), 0);
    }
}

extern "C" fn on_sigbus(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    handle();
}

fn answer(stop: i32) {
    let uffd = UFFD.load(Ordering::Relaxed);
    let mut message = [0u8; 32];
    loop {
        // SAFETY: the descriptors are open, and the buffers as long as is said.
        unsafe {
            while libc::read(uffd, message.as_mut_ptr().cast(), 32) == 32 {
                handle();
            }
            let mut both = [uffd, stop].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
            libc::poll(both.as_mut_ptr(), 2, -1);
            if both[1].revents != 0 {
                return;
            }
        }
    }
}
