//! Off-line work beside the in-thread trap: a thread that takes the fault path's lock for one bounded step at a time,
//! and only while no fault wants it.

use super::paging::Paging;
use super::signals::Blocked;
use crate::error::Error;
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const ENDED: u32 = 2;

/// How long it looks out for the next fault before it sleeps. Waking it costs the faulting thread some microseconds.
const PATIENCE: Duration = Duration::from_micros(50);

/// How long after a fault it begins. Where faults follow one another at once a step would only keep the next one
/// waiting for the lock, and its pages in another processor's cache: there the faults do everything themselves.
const GRACE: Duration = Duration::from_micros(8);

pub(crate) struct IdleThread {
    state: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl IdleThread {
    pub(crate) fn start(paging: Arc<Paging>) -> Result<Self, Error> {
        let state = Arc::new(AtomicU32::new(AWAKE));
        let shared = Arc::clone(&state);
        let _blocked = Blocked::all();
        let builder = Builder::new().name("lethe-pager-idle".to_owned());
        let begun = Arc::new(Barrier::new(2));
        let begins = Arc::clone(&begun);
        let serve = move || {
            begins.wait();
            serve(&paging, &shared);
        };
        let thread = builder.spawn(serve).map_err(Error::Thread)?;
        // A thread allocates when it begins: not while faults are being served.
        begun.wait();
        Ok(IdleThread { state, thread: Some(thread) })
    }

    /// After a fault that left something owed.
    pub(crate) fn rouse(&self) {
        rouse(&self.state);
    }
}

fn rouse(state: &AtomicU32) {
    if state.load(Ordering::SeqCst) == ASLEEP
        && state.compare_exchange(ASLEEP, AWAKE, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    {
        // The futex is there as long as we borrow it: waking cannot fail.
        let _ = futex::wake(state, futex::Flags::PRIVATE, 1);
    }
}

fn serve(paging: &Paging, state: &AtomicU32) {
    let mut since = Instant::now();
    // The count of faults after the last of which the grace has passed.
    let mut graced = None;
    while state.load(Ordering::SeqCst) != ENDED {
        if paging.owes() {
            let served = paging.served();
            if graced == Some(served) || is_quiet(paging, served) {
                graced = Some(served);
                paging.idle();
            }
            since = Instant::now();
        } else if since.elapsed() > PATIENCE {
            sleep(paging, state);
            since = Instant::now();
        }
        // A fault that wants the lock, or the processor, goes first.
        thread::yield_now();
    }
}

/// Whether no fault comes for as long as the grace.
fn is_quiet(paging: &Paging, served: u64) -> bool {
    let since = Instant::now();
    while since.elapsed() < GRACE && paging.served() == served {
        thread::yield_now();
    }
    paging.served() == served
}

fn sleep(paging: &Paging, state: &AtomicU32) {
    if state.compare_exchange(AWAKE, ASLEEP, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return;
    }
    // Something may have become owed before we were seen asleep.
    if paging.owes() {
        rouse(state);
    }
    while state.load(Ordering::SeqCst) == ASLEEP {
        // Woken, interrupted or changed before we slept: look again in any case.
        let _ = futex::wait(state, futex::Flags::PRIVATE, ASLEEP, None);
    }
}

impl Drop for IdleThread {
    fn drop(&mut self) {
        self.state.store(ENDED, Ordering::SeqCst);
        let _ = futex::wake(&self.state, futex::Flags::PRIVATE, 1);
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did its message is out.
            let _ = thread.join();
        }
    }
}
