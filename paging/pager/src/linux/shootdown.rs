//! The cost of unmapping a page while another thread of the process runs on another processor. That processor is
//! interrupted, because its translations may be stale. About a microsecond on bare metal, up to twenty on a virtual
//! machine.
#![allow(unsafe_code, reason = "a mapping of its own; each block says why it is sound")]

use super::signals::BlockedSignals;
use crate::error::Error;
use crate::page::PAGE_BYTES;
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use std::ffi::c_void;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Each trial takes at most a millisecond.
const TRIALS: usize = 25;

/// The additional time. 0 if no other processor is free: then no processor is interrupted.
pub(crate) fn cost() -> Result<Duration, Error> {
    let page = Page::new().map_err(|errno| Error::System { what: "a page", errno })?;
    let alone = page.min()?;
    let (running, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let busy = thread::scope(|scope| {
        let _blocked = BlockedSignals::all();
        let spin = || {
            running.store(true, Ordering::SeqCst);
            while !ended.load(Ordering::Relaxed) {
                spin_loop();
            }
        };
        thread::Builder::new().spawn_scoped(scope, spin).map_err(Error::Thread)?;
        while !running.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let busy = page.median();
        ended.store(true, Ordering::Relaxed);
        busy
    })?;
    Ok(busy.saturating_sub(alone))
}

struct Page(*mut c_void);

impl Page {
    fn new() -> Result<Self, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), PAGE_BYTES, protection, MapFlags::PRIVATE) }
            .map(Page)
    }

    /// Removes the right to write from a page that was written to.
    fn once(&self) -> Result<Duration, Error> {
        let protect = |flags| {
            // SAFETY: the mapping is ours, and nothing else has its address.
            unsafe { rustix::mm::mprotect(self.0, PAGE_BYTES, flags) }
                .map_err(|errno| Error::System { what: "the protection of a page", errno })
        };
        protect(MprotectFlags::READ | MprotectFlags::WRITE)?;
        // SAFETY: it may be written to now.
        unsafe { self.0.cast::<u8>().write_volatile(1) };
        let begin = Instant::now();
        protect(MprotectFlags::READ)?;
        Ok(begin.elapsed())
    }

    fn trials(&self) -> Result<Vec<Duration>, Error> {
        let mut trials = (0..TRIALS).map(|_| self.once()).collect::<Result<Vec<_>, _>>()?;
        trials.sort_unstable();
        Ok(trials)
    }

    fn min(&self) -> Result<Duration, Error> {
        Ok(self.trials()?[0])
    }

    fn median(&self) -> Result<Duration, Error> {
        Ok(self.trials()?[TRIALS / 2])
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours.
        let unmapped = unsafe { rustix::mm::munmap(self.0, PAGE_BYTES) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}
