//! The state that the threads of a pool share, and the one place where a job's borrowed data crosses between them.
//!
//! The only unsafe code of the project's sealing side stands here and in `share.rs`. The argument, once: a job is a
//! pointer to a closure on the caller's stack, and [`Core::run`] does not return before `pending` is 0. `pending`
//! begins as the number of parts; a thread subtracts the parts that it has taken only after it has done them, and looks
//! at the job only while it holds a part that it has not subtracted. So a thread that looks at the job keeps
//! `Core::run`, and with it the closure, from ending. A part is offered in one lane's range and taken once, by
//! compare-exchange: no two threads do the same part, and a thread has one lane number for itself.

use crate::lane::Lane;
use crate::processor;
use crate::share::share;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Looks for the end of a job before the processor is offered to others: the thread that is still at work may have
/// been taken off it. At some 50 ns a look that is 20 µs, longer than any part.
const LOOKS_BEFORE_YIELD: u32 = 400;

/// Looks for work between two looks at the clock and at the processor. At some 50 ns a look that is 1.6 µs.
const LOOKS_A_CLOCK: u32 = 32;

/// A closure of the caller's, with its type and lifetime taken away: `call(data, lane, part)`.
#[derive(Clone, Copy)]
struct Job {
    data: *const (),
    call: unsafe fn(*const (), usize, usize),
}

/// # Safety
/// `data` points to a live `W`.
unsafe fn call<W: Fn(usize, usize) + Sync>(data: *const (), lane: usize, part: usize) {
    // SAFETY: the caller promises it.
    let work = unsafe { &*data.cast::<W>() };
    work(lane, part);
}

unsafe fn nothing(_: *const (), _: usize, _: usize) {}

/// The state of a pool. Fields that change at different times, or are written by different threads, lie on different
/// cache lines: each line that must cross from one processor to another is a tenth of a microsecond of a hand-over.
pub(crate) struct Core {
    lanes: Box<[Lane]>,
    job: Lines<Offer>,
    /// Parts of the job that are not done yet.
    pending: Lines<AtomicUsize>,
    seldom: Lines<ReadMostly>,
}

#[repr(align(128))]
struct Lines<T>(T);

/// The part that the caller writes.
struct Offer {
    /// Written by the caller that has taken the pool, while no part is offered; read by a thread that holds a part.
    job: UnsafeCell<Job>,
    /// A caller's work is under way.
    taken: AtomicBool,
}

/// The part that all read, and that is hardly ever written.
struct ReadMostly {
    /// A part of the job panicked.
    panicked: AtomicBool,
    closing: AtomicBool,
    /// The processor that the last caller ran on.
    caller: AtomicUsize,
}

// SAFETY: `job` is the only part that is not Sync by itself. It is written only under `taken` while every lane is empty
// and nothing is pending, and read only by a thread that holds a part; the range's release and acquire order the two.
// The target of its pointer is `Sync`, by the bound on `run`.
unsafe impl Sync for Core {}
// SAFETY: as above; the pointer is never followed but during `run`, which borrows what it points to.
unsafe impl Send for Core {}

impl Core {
    pub(crate) fn new(lanes: usize) -> Self {
        let job = UnsafeCell::new(Job { data: std::ptr::null(), call: nothing });
        Core {
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            job: Lines(Offer { job, taken: AtomicBool::new(false) }),
            pending: Lines(AtomicUsize::new(0)),
            seldom: Lines(ReadMostly {
                panicked: AtomicBool::new(false),
                closing: AtomicBool::new(false),
                caller: AtomicUsize::new(processor::current()),
            }),
        }
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) fn close(&self) {
        self.seldom.0.closing.store(true, Ordering::SeqCst);
    }

    /// Does `work(lane, part)` for every part, each once; the caller has lane 0. Returns when all are done.
    pub(crate) fn run<W: Fn(usize, usize) + Sync>(&self, parts: usize, threads: &[Thread], work: &W) {
        let few = parts < 2 || self.lanes.len() < 2 || u32::try_from(parts).is_err();
        if few || self.job.0.taken.swap(true, Ordering::Acquire) {
            return (0..parts).for_each(|part| work(0, part));
        }
        // SAFETY: the pool is taken and the job before this one has ended: no lane offers a part, no thread holds one.
        unsafe { *self.job.0.job.get() = Job { data: std::ptr::from_ref(work).cast(), call: call::<W> } };
        self.pending.0.store(parts, Ordering::Relaxed);
        self.note_processor();
        self.offer(parts as u32);
        self.wake(threads, parts);
        let mine = self.take_part(0);
        self.finish(mine);
        self.join();
        let panicked = self.seldom.0.panicked.load(Ordering::Relaxed);
        if panicked {
            self.seldom.0.panicked.store(false, Ordering::Relaxed);
        }
        self.job.0.taken.store(false, Ordering::Release);
        if panicked {
            // The payload was another thread's, or is told already: its message was printed where it happened.
            resume_unwind(Box::new("a part of the work panicked"));
        }
    }

    /// Wakes the sleepers ahead of work.
    pub(crate) fn rouse(&self, threads: &[Thread]) {
        self.wake(threads, self.lanes.len());
    }

    fn note_processor(&self) {
        let (here, last) = (processor::current(), &self.seldom.0.caller);
        if last.load(Ordering::Relaxed) != here {
            last.store(here, Ordering::Relaxed);
        }
    }

    /// The others' shares first, so that they begin as early as can be.
    fn offer(&self, parts: u32) {
        for (lane, range) in self.lanes.iter().enumerate().rev() {
            let share = share(parts as usize, self.lanes.len(), lane);
            range.offer(share.start as u32, share.end as u32);
        }
    }

    fn wake(&self, threads: &[Thread], parts: usize) {
        for (lane, thread) in self.lanes[1..].iter().zip(threads).take(parts - 1) {
            if lane.stir() {
                thread.unpark();
            }
        }
    }

    /// Does parts, its own lane's first and then the others', until none is left to take. Returns how many; they
    /// are still pending.
    fn take_part(&self, mine: usize) -> usize {
        let mut done = 0;
        while let Some(part) = self.lanes[mine].take_first() {
            self.part(mine, part);
            done += 1;
        }
        let (before, after) = self.lanes.split_at(mine);
        for lane in after[1..].iter().chain(before) {
            while let Some(part) = lane.take_last() {
                self.part(mine, part);
                done += 1;
            }
        }
        done
    }

    fn part(&self, lane: usize, part: u32) {
        // SAFETY: this thread has taken a part and not subtracted it: no thread writes the job.
        let job = unsafe { *self.job.0.job.get() };
        // SAFETY: for the same reason `run` has not returned, and what `data` points to is live.
        let work = AssertUnwindSafe(|| unsafe { (job.call)(job.data, lane, part as usize) });
        if catch_unwind(work).is_err() {
            self.seldom.0.panicked.store(true, Ordering::Relaxed);
        }
    }

    fn finish(&self, parts: usize) {
        self.pending.0.fetch_sub(parts, Ordering::Release);
    }

    fn join(&self) {
        let mut looks = 0;
        while self.pending.0.load(Ordering::Acquire) != 0 {
            looks += 1;
            if looks < LOOKS_BEFORE_YIELD {
                spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Does the work of a lane's owner until the pool is closed.
    pub(crate) fn serve(&self, mine: usize, patience: Duration) {
        let mut useful = false;
        while self.wait(&self.lanes[mine], patience, &mut useful) {
            let done = self.take_part(mine);
            if done > 0 {
                self.finish(done);
                useful = true;
            }
        }
    }

    /// Waits for work; `false` when the pool closes. Sets `useful` to `false` when it sleeps.
    fn wait(&self, lane: &Lane, patience: Duration, useful: &mut bool) -> bool {
        loop {
            let since = Instant::now();
            loop {
                for _ in 0..LOOKS_A_CLOCK {
                    if lane.has_work() {
                        return true;
                    }
                    spin_loop();
                }
                if self.seldom.0.closing.load(Ordering::SeqCst) {
                    return false;
                }
                if since.elapsed() >= patience {
                    break;
                }
                // Woken onto the caller's own processor, it must not keep the caller from it.
                if processor::current() == self.seldom.0.caller.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
            }
            if !lane.doze(*useful) {
                return true;
            }
            *useful = false;
            while lane.sleeps() && !self.seldom.0.closing.load(Ordering::SeqCst) {
                thread::park();
            }
        }
    }
}
