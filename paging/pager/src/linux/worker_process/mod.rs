//! A second process that runs page jobs in parallel with the program.
//!
//! A thread would do the same work. But while another thread of the process runs on another processor, each move of a
//! page interrupts that processor ([`shootdown`](super::shootdown)). A second process has an address space of its own,
//! so that no move of a page interrupts it.
//!
//! The process is a copy of the program at the time when the region is made. It has no descriptors and takes no
//! signals. It runs this file's loop over memory that it shares with the program, and ends with the program. `wait`
//! does not return it unless the wait is for children of every kind. If it is killed, the program runs its jobs.
#![allow(unsafe_code, reason = "a second process; each block says why it is sound")]

mod backoff;
mod job_protocol;
mod job_ring;
mod scratch;

use super::signals::BlockedSignals;
use crate::error::Error;
use crate::failure::write_stderr_line;
use ameles_seal::pages::{JobStatus, PageJob, PageWorker, SealedSlots, SharedMemory, Ticket};
use backoff::{Backoff, PREEMPTED_AFTER, WastedWaits, idle_time};
use job_ring::JobRing;
use rustix::io::Errno;
use rustix::thread::{CpuSet, futex};
use rustix::time::Timespec;
use scratch::Scratch;
use std::cell::{Cell, RefCell};
use std::hint::spin_loop;
use std::mem::ManuallyDrop;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

/// The time for which it polls for the next job before it sleeps.
const SPIN_TIME: Duration = Duration::from_micros(200);

/// The time between two checks, while it sleeps, whether the program still runs.
const PARENT_CHECK: Duration = Duration::from_millis(50);

/// The states of the process, for the caller: it polls for jobs.
const AWAKE: u32 = 0;
/// The state of a worker that sleeps, and must be woken when a job is submitted.
const ASLEEP: u32 = 1;
/// The state of a worker that sleeps and is not woken for jobs. It has lost its processor, or has left too many jobs to
/// the caller.
const BACKED_OFF: u32 = 2;

/// Limits of a waiting caller's polls of one job. After the first it runs a job itself, because the process has lost
/// its processor. After the second it yields its own processor. After the third it checks whether the process is alive.
/// A poll takes about forty nanoseconds; a job takes a microsecond.
const POLLS_BEFORE_HELP: u32 = 1 << 7;
const POLLS_BEFORE_YIELD: u32 = 1 << 10;
const POLLS_BEFORE_DOUBT: u32 = 1 << 16;

/// The warning of a limit on locked memory that is too low. The limit counts all addresses of the process.
const UNLOCKED: &str = "the second process may not lock its memory (ulimit -l): pages that it opens may be swapped out \
                        in the clear";

/// The program's handle on the process.
pub(crate) struct WorkerProcess {
    ring: ManuallyDrop<JobRing>,
    process_id: libc::pid_t,
    /// The process that started it.
    program_pid: libc::pid_t,
    ended: Cell<bool>,
    polls: Cell<u32>,
    /// The jobs that this side ran after it had waited for them.
    wasted_waits: Cell<WastedWaits>,
    scratch: RefCell<Scratch>,
}

impl WorkerProcess {
    /// Starts the process with a ring of `capacity` jobs, on any processor except `excluded`. `slots` have a key of
    /// their own.
    pub(crate) fn start<M: SharedMemory>(
        capacity: usize,
        slots: SealedSlots<M>,
        excluded: Option<usize>,
    ) -> Result<Self, Error> {
        let ring = JobRing::new(capacity)
            .map_err(|errno| Error::System { what: "memory for two processes", errno })?;
        let processors = excluded.and_then(all_processors_but);
        // SAFETY: the call takes nothing.
        let program_pid = unsafe { libc::getpid() };
        // It inherits the mask, so it never runs a handler of the program.
        let _blocked = BlockedSignals::all();
        // SAFETY: without flags it is a `fork` whose child sends no signal when it ends. The child touches this stack,
        // the ring and shared memory; it allocates nothing, takes no lock and never returns.
        match unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } {
            0 => {
                let exit = ExitOnDrop;
                prepare(processors.as_ref());
                run_worker(&ring, &slots, program_pid);
                drop(exit);
                unreachable!("the process has ended")
            }
            process_id if process_id > 0 => {
                let second = WorkerProcess {
                    ring: ManuallyDrop::new(ring),
                    process_id: process_id as libc::pid_t,
                    program_pid,
                    ended: Cell::new(false),
                    polls: Cell::new(0),
                    wasted_waits: Cell::new(WastedWaits::default()),
                    scratch: RefCell::new(Scratch::new()),
                };
                let refused = |errno| Error::System { what: "memory for two processes", errno };
                second.ring.hide_from_children().map_err(refused)?;
                Ok(second)
            }
            _ => Err(Error::System {
                what: "a second process",
                errno: Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::AGAIN),
            }),
        }
    }

    /// Returns the trusted memory that it takes, in bytes, without its copy of the program.
    pub(crate) fn bytes(&self) -> usize {
        self.ring.bytes() + size_of::<Scratch>()
    }

    fn run_next<M: SharedMemory>(&self, slots: &SealedSlots<M>) -> bool {
        self.ring.run_next(slots, &mut self.scratch.borrow_mut(), || self.has_ended())
    }

    /// Runs the next job after a wait without a result. After too many such jobs the process must back off.
    fn run_after_wait<M: SharedMemory>(&self, slots: &SealedSlots<M>) {
        if self.run_next(slots) {
            let mut wasted_waits = self.wasted_waits.get();
            let is_too_many = wasted_waits.add(self.ring.claimed());
            self.wasted_waits.set(wasted_waits);
            if is_too_many {
                // If it sleeps, that is as good.
                let _ = self.ring.worker_state().compare_exchange(
                    AWAKE,
                    BACKED_OFF,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
            }
        }
    }

    /// Returns whether the process has ended, which happens only if it was killed.
    fn has_ended(&self) -> bool {
        if !self.ended.get() {
            // SAFETY: the process is our child.
            let waited =
                unsafe { libc::waitpid(self.process_id, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
            // If another thread has waited for it, it has ended too. Other errors say nothing.
            let is_gone = || Errno::from_io_error(&std::io::Error::last_os_error()) == Some(Errno::CHILD);
            self.ended.set(waited == self.process_id || (waited < 0 && is_gone()));
        }
        self.ended.get()
    }
}

impl<M: SharedMemory> PageWorker<M> for WorkerProcess {
    fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    fn fill(&self, ticket: Ticket, page: &[u8]) {
        self.ring.fill(ticket, page);
    }

    fn submit(&self, ticket: Ticket, job: PageJob) {
        self.ring.submit(ticket, job);
    }

    fn wake(&self) {
        // The process sees the job before it sleeps, or this side sees it asleep.
        fence(Ordering::SeqCst);
        let worker_state = self.ring.worker_state();
        if worker_state.load(Ordering::Relaxed) != ASLEEP {
            return;
        }
        // Before the process can see that it was woken.
        self.ring.woken_at().store(nanoseconds(), Ordering::Relaxed);
        if worker_state.compare_exchange(ASLEEP, AWAKE, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            // The futex lives while it is borrowed: waking cannot fail.
            let _ = futex::wake(worker_state, futex::Flags::empty(), 1);
        }
    }

    fn status(&self, ticket: Ticket) -> JobStatus {
        let status = self.ring.status(ticket);
        if status != JobStatus::Pending {
            self.polls.set(0);
        }
        status
    }

    fn help(&self, slots: &SealedSlots<M>) {
        if !self.run_next(slots) {
            self.wait(slots);
        }
    }

    fn has_backed_off(&self) -> bool {
        self.ring.worker_state().load(Ordering::Relaxed) == BACKED_OFF
    }

    fn wait(&self, slots: &SealedSlots<M>) {
        let polls = self.polls.get().wrapping_add(1);
        self.polls.set(polls);
        spin_loop();
        if PageWorker::<M>::has_backed_off(self) {
            self.run_next(slots);
        } else if polls > POLLS_BEFORE_HELP {
            self.run_after_wait(slots);
        }
        if polls.is_multiple_of(POLLS_BEFORE_YIELD) {
            std::thread::yield_now();
        }
        if self.ended.get() || (polls.is_multiple_of(POLLS_BEFORE_DOUBT) && self.has_ended()) {
            self.ring.run_unfinished(slots, &mut self.scratch.borrow_mut());
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // SAFETY: the call takes nothing.
        if unsafe { libc::getpid() } != self.program_pid {
            // A child after `fork` has neither the process nor the memory.
            return;
        }
        self.ring.stop().store(1, Ordering::SeqCst);
        self.ring.worker_state().store(AWAKE, Ordering::SeqCst);
        let _ = futex::wake(self.ring.worker_state(), futex::Flags::empty(), 1);
        if !self.ended.get() {
            // SAFETY: as in `has_ended`. The process ends at its next poll.
            unsafe { libc::waitpid(self.process_id, std::ptr::null_mut(), libc::__WALL) };
        }
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.ring) };
    }
}

/// Reads the monotonic clock, which both processes share.
fn nanoseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn all_processors_but(processor: usize) -> Option<CpuSet> {
    let mut set = rustix::thread::sched_getaffinity(None).ok()?;
    set.unset(processor);
    (set.count() > 0).then_some(set)
}

/// Ends the process when it is dropped, also by a panic: it must never continue as a second program.
struct ExitOnDrop;

impl Drop for ExitOnDrop {
    fn drop(&mut self) {
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, 0) };
    }
}

/// Gives up what belongs to the program. Each step may fail: nothing depends on it.
fn prepare(processors: Option<&CpuSet>) {
    // SAFETY: the descriptors are copies; a name, a flag and a lock change nothing else.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"ameles-pager".as_ptr());
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        // By the system call: under `ameles page run` the function `mlockall` is another one, which calls the region.
        if libc::syscall(libc::SYS_mlockall, libc::MCL_CURRENT | libc::MCL_ONFAULT) != 0 {
            write_stderr_line(&UNLOCKED);
        }
        libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0);
    }
    if let Some(processors) = processors {
        let _ = rustix::thread::sched_setaffinity(None, processors);
    }
}

/// Runs jobs until the program stops the process or ends.
fn run_worker<M: SharedMemory>(ring: &JobRing, slots: &SealedSlots<M>, program_pid: libc::pid_t) {
    // SAFETY: it belongs to this process, which calls this once.
    let scratch = unsafe { ring.worker_scratch() };
    let mut last = Instant::now();
    let (mut worked_at, mut backed_off_at) = (last, last);
    let mut backoff = Backoff::new();
    // SAFETY: the call takes nothing.
    let is_orphaned = || unsafe { libc::getppid() } != program_pid;
    let exit_if_orphaned = || {
        if is_orphaned() {
            drop(ExitOnDrop);
        }
        false
    };
    while ring.stop().load(Ordering::Relaxed) == 0 {
        let has_worked = ring.run_next(slots, scratch, exit_if_orphaned);
        if !has_worked {
            spin_loop();
        }
        let now = Instant::now();
        if has_worked {
            worked_at = now;
        }
        let mut is_preempted =
            now - last > PREEMPTED_AFTER || ring.worker_state().load(Ordering::Relaxed) == BACKED_OFF;
        if !is_preempted && now - worked_at > SPIN_TIME {
            is_preempted = sleep_until_woken(ring) > PREEMPTED_AFTER;
            worked_at = Instant::now();
        }
        if is_preempted {
            back_off(ring, backoff.on_processor_lost(worked_at.max(now) - backed_off_at), is_orphaned);
            (backed_off_at, worked_at) = (Instant::now(), Instant::now());
        }
        last = worked_at.max(now);
        if last > now && is_orphaned() {
            return;
        }
    }
}

/// Sleeps until the program wakes it, or for a while. Returns the time from the wake-up until it had a processor: a
/// late wake-up means that no processor was free.
fn sleep_until_woken(ring: &JobRing) -> Duration {
    sleep(ring, ASLEEP, PARENT_CHECK);
    if ring.worker_state().swap(AWAKE, Ordering::SeqCst) != AWAKE {
        return Duration::ZERO;
    }
    Duration::from_nanos(nanoseconds().saturating_sub(ring.woken_at().load(Ordering::Relaxed)))
}

/// Sleeps for `length`, again and again, until a processor is free, the program has ended, or it must stop.
fn back_off(ring: &JobRing, length: Duration, is_orphaned: impl Fn() -> bool) {
    let is_over = || ring.stop().load(Ordering::Relaxed) != 0 || is_orphaned();
    let mut resumes = false;
    while !resumes && !is_over() {
        let (begin, idle) = (Instant::now(), idle_time());
        while begin.elapsed() < length && !is_over() {
            sleep(ring, BACKED_OFF, PARENT_CHECK.min(length));
        }
        let idle = idle_time().zip(idle).map(|(now, before)| now.saturating_sub(before));
        resumes = Backoff::should_resume(begin.elapsed(), idle);
    }
    ring.worker_state().store(AWAKE, Ordering::SeqCst);
}

/// Sleeps in a state until it is woken, at most for `max`.
fn sleep(ring: &JobRing, state: u32, max: Duration) {
    ring.worker_state().store(state, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    if (state == BACKED_OFF || ring.is_all_claimed()) && ring.stop().load(Ordering::SeqCst) == 0 {
        let max = Timespec { tv_sec: 0, tv_nsec: max.as_nanos() as i64 };
        // Whatever ended the wait, the caller checks again.
        let _ = futex::wait(ring.worker_state(), futex::Flags::empty(), state, Some(&max));
    }
}
