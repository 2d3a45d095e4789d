//! The thread for offline work under the in-thread trap. It takes the fault path's lock for one bounded step at a time,
//! and only while no fault needs the lock.
//!
//! It never polls for work. While a thread of the process runs on another processor, each move of a page must interrupt
//! that processor, whose translations may be stale. On a virtual machine that costs more than a whole fault. So it
//! sleeps, and a fault that leaves work wakes it. Where faults follow one another closely, waking it would be useless;
//! there it is woken less and less often. And where waking it costs more than it can save, it is seldom woken.

use super::paging::Paging;
use super::signals::BlockedSignals;
use crate::error::Error;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const ENDED: u32 = 2;

/// The time between a fault and the beginning of its work.
const DELAY: Duration = Duration::from_micros(8);

/// The time after which the thread checks again by itself, if work was pending when it went to sleep. It is also the
/// time after which it begins if waking it costs too much.
const RECHECK_AFTER: Duration = Duration::from_millis(5);

/// However often waking was useless, one fault in this many still wakes it (a power of two).
const MAX_SKIPPED_LOG2: u32 = 6;

#[derive(Default)]
struct SleepState {
    state: AtomicU32,
    /// The number of faults that are skipped before the thread is woken.
    faults_to_skip: AtomicU32,
}

pub(crate) struct IdleThread {
    sleep_state: Arc<SleepState>,
    thread: Option<JoinHandle<()>>,
}

impl IdleThread {
    /// `is_worth_waking`: whether its work of one fault is worth waking it.
    pub(crate) fn start(paging: Arc<Paging>, is_worth_waking: bool) -> Result<Self, Error> {
        let sleep_state = Arc::new(SleepState::default());
        let shared = Arc::clone(&sleep_state);
        let _blocked = BlockedSignals::all();
        let builder = Builder::new().name("ameles-pager-idle".to_owned());
        let begun = Arc::new(Barrier::new(2));
        let begins = Arc::clone(&begun);
        let run_idle = move || {
            begins.wait();
            run_idle(&paging, &shared, is_worth_waking);
        };
        let thread = builder.spawn(run_idle).map_err(Error::Thread)?;
        // A thread allocates when it starts: not while faults are handled.
        begun.wait();
        Ok(IdleThread { sleep_state, thread: Some(thread) })
    }

    /// Wakes the thread after a fault that left work.
    pub(crate) fn wake(&self) {
        let faults_to_skip = self.sleep_state.faults_to_skip.load(Ordering::Relaxed);
        if faults_to_skip > 0 {
            // Two simultaneous faults may count as one: it is a hint.
            self.sleep_state.faults_to_skip.store(faults_to_skip - 1, Ordering::Relaxed);
        } else {
            self.sleep_state.wake();
        }
    }
}

impl SleepState {
    fn wake(&self) {
        if self.state.load(Ordering::SeqCst) == ASLEEP
            && self.state.compare_exchange(ASLEEP, AWAKE, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        {
            // The futex lives as long as the borrow: waking cannot fail.
            let _ = futex::wake(&self.state, futex::Flags::PRIVATE, 1);
        }
    }

    fn sleep(&self, paging: &Paging) {
        if self.state.compare_exchange(AWAKE, ASLEEP, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return;
        }
        // Checked after we were seen asleep: a fault from now on wakes us.
        let later = Timespec { tv_sec: 0, tv_nsec: RECHECK_AFTER.as_nanos() as i64 };
        let timeout = paging.has_pending_steps().then_some(later);
        while self.state.load(Ordering::SeqCst) == ASLEEP {
            // Woken, interrupted or changed before we slept: check again in any case.
            let waited = futex::wait(&self.state, futex::Flags::PRIVATE, ASLEEP, timeout.as_ref());
            if waited == Err(rustix::io::Errno::TIMEDOUT) {
                self.wake();
            }
        }
    }
}

fn run_idle(paging: &Paging, sleep_state: &SleepState, is_worth_waking: bool) {
    let mut wasted_wakeups = 0;
    while sleep_state.state.load(Ordering::SeqCst) != ENDED {
        if !is_worth_waking {
            thread::sleep(RECHECK_AFTER);
        }
        let useful = do_pending_steps(paging);
        wasted_wakeups = if useful { 0 } else { (wasted_wakeups + 1).min(MAX_SKIPPED_LOG2) };
        // Faults may be skipped only if it checks again by itself.
        let faults_to_skip = if paging.has_pending_steps() { (1 << wasted_wakeups) - 1 } else { 0 };
        sleep_state.faults_to_skip.store(faults_to_skip, Ordering::Relaxed);
        sleep_state.sleep(paging);
    }
}

/// Does pending work until the next fault. Returns whether there was time for any.
fn do_pending_steps(paging: &Paging) -> bool {
    let (activity_count, since) = (paging.activity_count(), Instant::now());
    while since.elapsed() < DELAY {
        if paging.activity_count() != activity_count {
            return false;
        }
        // Other threads on this processor go first.
        thread::yield_now();
    }
    while paging.has_pending_steps() && paging.activity_count() == activity_count {
        paging.step();
        thread::yield_now();
    }
    true
}

impl Drop for IdleThread {
    fn drop(&mut self) {
        self.sleep_state.state.store(ENDED, Ordering::SeqCst);
        let _ = futex::wake(&self.sleep_state.state, futex::Flags::PRIVATE, 1);
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did its message is printed.
            let _ = thread.join();
        }
    }
}
