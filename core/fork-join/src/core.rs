//! The state that the threads of a pool share. Only here does a job's borrowed data cross between threads.
//!
//! The only unsafe code of the project's sealing side is here and in `share.rs`. Why it is sound: a job is a pointer to
//! a closure on the caller's stack, and [`Core::run`] does not return before `pending` is 0. `pending` starts as the
//! number of parts. A thread does the parts that it took, and only then subtracts them. It reads the job only while it
//! has a part that it has not subtracted. So the closure lives as long as any thread reads the job. A part is offered
//! in one lane's range and taken once, by compare-exchange: no two threads do the same part. A lane belongs to one
//! thread.

use crate::lane::Lane;
use crate::processor;
use crate::share::share;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The number of polls for the end of a job before the caller yields its processor: the thread that still works may
/// wait for it. At about 50 ns a poll that is 20 µs, longer than any part.
const SPINS_BEFORE_YIELD: u32 = 400;

/// The number of polls for work between two reads of the clock and of the processor's number. At about 50 ns a poll
/// that is 1.6 µs.
const SPINS_PER_CLOCK_READ: u32 = 32;

/// The caller's closure with its type and lifetime erased: `call(data, lane, part)`.
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

unsafe fn no_work(_: *const (), _: usize, _: usize) {}

/// The state of a pool. Fields have cache lines of their own if they change at different times, or if different threads
/// write them. Each line that moves to another processor costs a tenth of a microsecond.
pub(crate) struct Core {
    lanes: Box<[Lane]>,
    job: CachePadded<CurrentJob>,
    /// The number of parts of the job that are not done yet.
    pending: CachePadded<AtomicUsize>,
    read_mostly: CachePadded<ReadMostly>,
}

#[repr(align(128))]
struct CachePadded<T>(T);

/// The fields that the caller writes.
struct CurrentJob {
    /// The job. The caller that has taken the pool writes it while no part is offered. A thread that holds a part reads
    /// it.
    job: UnsafeCell<Job>,
    /// True while a caller uses the pool.
    taken: AtomicBool,
}

/// The fields that all threads read and that are rarely written.
struct ReadMostly {
    /// True if a part of the job panicked.
    panicked: AtomicBool,
    is_closing: AtomicBool,
    /// The processor that the last caller ran on.
    caller: AtomicUsize,
}

// SAFETY: `job` is the only field that is not Sync by itself. It is written only by the caller that has set `taken`,
// while every lane is empty and nothing is pending. It is read only by a thread that holds a part; the release and
// acquire of the range order the two. The target of its pointer is `Sync`, by the bound on `run`.
unsafe impl Sync for Core {}
// SAFETY: as above; the pointer is never followed but during `run`, which borrows what it points to.
unsafe impl Send for Core {}

impl Core {
    pub(crate) fn new(lanes: usize) -> Self {
        let job = UnsafeCell::new(Job { data: std::ptr::null(), call: no_work });
        Core {
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            job: CachePadded(CurrentJob { job, taken: AtomicBool::new(false) }),
            pending: CachePadded(AtomicUsize::new(0)),
            read_mostly: CachePadded(ReadMostly {
                panicked: AtomicBool::new(false),
                is_closing: AtomicBool::new(false),
                caller: AtomicUsize::new(processor::current()),
            }),
        }
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) fn close(&self) {
        self.read_mostly.0.is_closing.store(true, Ordering::SeqCst);
    }

    /// Calls `work(lane, part)` once for every part; the caller has lane 0. Returns when all parts are done.
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
        self.wake_some(threads, parts);
        let mine = self.do_available_parts(0);
        self.mark_done(mine);
        self.join();
        let panicked = self.read_mostly.0.panicked.load(Ordering::Relaxed);
        if panicked {
            self.read_mostly.0.panicked.store(false, Ordering::Relaxed);
        }
        self.job.0.taken.store(false, Ordering::Release);
        if panicked {
            // The panic's own message was printed by the thread that panicked.
            resume_unwind(Box::new("a part of the work panicked"));
        }
    }

    /// Wakes the sleepers ahead of work.
    pub(crate) fn wake(&self, threads: &[Thread]) {
        self.wake_some(threads, self.lanes.len());
    }

    fn note_processor(&self) {
        let (here, last) = (processor::current(), &self.read_mostly.0.caller);
        if last.load(Ordering::Relaxed) != here {
            last.store(here, Ordering::Relaxed);
        }
    }

    /// Offers the shares of the other lanes first, so that they start as early as possible.
    fn offer(&self, parts: u32) {
        for (lane, range) in self.lanes.iter().enumerate().rev() {
            let share = share(parts as usize, self.lanes.len(), lane);
            range.offer(share.start as u32, share.end as u32);
        }
    }

    fn wake_some(&self, threads: &[Thread], parts: usize) {
        for (lane, thread) in self.lanes[1..].iter().zip(threads).take(parts - 1) {
            if lane.take_wakeup() {
                thread.unpark();
            }
        }
    }

    /// Does the parts of its own lane and then those of the others, until none can be taken. Returns their number; they
    /// are still pending.
    fn do_available_parts(&self, mine: usize) -> usize {
        let mut done = 0;
        while let Some(part) = self.lanes[mine].take_first() {
            self.do_part(mine, part);
            done += 1;
        }
        let (before, after) = self.lanes.split_at(mine);
        for lane in after[1..].iter().chain(before) {
            while let Some(part) = lane.take_last() {
                self.do_part(mine, part);
                done += 1;
            }
        }
        done
    }

    fn do_part(&self, lane: usize, part: u32) {
        // SAFETY: this thread has taken a part and not subtracted it: no thread writes the job.
        let job = unsafe { *self.job.0.job.get() };
        // SAFETY: for the same reason `run` has not returned, and what `data` points to is live.
        let work = AssertUnwindSafe(|| unsafe { (job.call)(job.data, lane, part as usize) });
        if catch_unwind(work).is_err() {
            self.read_mostly.0.panicked.store(true, Ordering::Relaxed);
        }
    }

    fn mark_done(&self, parts: usize) {
        self.pending.0.fetch_sub(parts, Ordering::Release);
    }

    fn join(&self) {
        let mut spins = 0;
        while self.pending.0.load(Ordering::Acquire) != 0 {
            spins += 1;
            if spins < SPINS_BEFORE_YIELD {
                spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Runs the thread of a lane until the pool closes.
    pub(crate) fn serve(&self, mine: usize, spin_time: Duration) {
        let mut did_work = false;
        while self.wait(&self.lanes[mine], spin_time, &mut did_work) {
            let done = self.do_available_parts(mine);
            if done > 0 {
                self.mark_done(done);
                did_work = true;
            }
        }
    }

    /// Waits for work; `false` when the pool closes. Sets `did_work` to `false` when it sleeps.
    fn wait(&self, lane: &Lane, spin_time: Duration, did_work: &mut bool) -> bool {
        loop {
            let since = Instant::now();
            loop {
                for _ in 0..SPINS_PER_CLOCK_READ {
                    if lane.has_work() {
                        return true;
                    }
                    spin_loop();
                }
                if self.read_mostly.0.is_closing.load(Ordering::SeqCst) {
                    return false;
                }
                if since.elapsed() >= spin_time {
                    break;
                }
                // A thread that was woken on the caller's own processor lets the caller run first.
                if processor::current() == self.read_mostly.0.caller.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
            }
            if !lane.prepare_to_sleep(*did_work) {
                return true;
            }
            *did_work = false;
            while lane.is_asleep() && !self.read_mostly.0.is_closing.load(Ordering::SeqCst) {
                thread::park();
            }
        }
    }
}
