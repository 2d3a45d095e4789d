//! A process beside the program that carries its pages.
//!
//! A thread would do as well, but for one thing: as long as another thread of the process runs on another processor,
//! each move of a page interrupts that processor ([`shootdown`](super::shootdown)). A process of its own has an address
//! space of its own, and nobody is interrupted for it.
//!
//! The process is a copy of the program at the moment at which the region is made; it has no descriptors, takes no
//! signals, runs this file's loop over memory that it shares with the program, and ends with it. `wait` does not
//! answer with it unless it is asked for children of every kind. Should it be killed, the program does its work.
#![allow(unsafe_code, reason = "a second process; each block says why it is sound")]

mod rests;
mod ring;
mod turns;

use super::signals::Blocked;
use crate::error::Error;
use crate::failure::say;
use ameles_seal::pages::{SealedSlots, JobStatus, PageJob, PageWorker, SharedMemory, Ticket};
use rests::{InVain, LOST, Rests, idle_time};
use ring::{Ring, Scratch};
use rustix::io::Errno;
use rustix::thread::{CpuSet, futex};
use rustix::time::Timespec;
use std::cell::{Cell, RefCell};
use std::hint::spin_loop;
use std::mem::ManuallyDrop;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

/// The time for which it looks out for the next turn before it sleeps.
const SPIN_TIME: Duration = Duration::from_micros(200);

/// The time between two looks, while it sleeps, whether the program is still there.
const LOOKS_UP: Duration = Duration::from_millis(50);

/// The doings of the process, for the caller to see: it looks out for turns.
const AWAKE: u32 = 0;
/// It wants to be woken when there is something to do.
const ASLEEP: u32 = 1;
/// It does not: it has lost its processor, or has left so many turns to the caller that it must have.
const RESTS: u32 = 2;

/// Looks of a waiting caller at the same turn before it does one itself, for the process has lost its processor; before
/// it lets another thread run; and before it asks whether the process is alive. A look takes some forty nanoseconds, a
/// turn a microsecond.
const LOOKS_BEFORE_HELP: u32 = 1 << 7;
const LOOKS_BEFORE_YIELD: u32 = 1 << 10;
const LOOKS_BEFORE_DOUBT: u32 = 1 << 16;

/// The limit on locked memory counts all addresses of the process.
const UNLOCKED: &str = "the process beside may not lock its memory (ulimit -l): pages that it opens may come into swap, in \
                        the clear";

/// The process, as the program sees it.
pub(crate) struct WorkerProcess {
    ring: ManuallyDrop<Ring>,
    process: libc::pid_t,
    /// The process that has started it.
    program: libc::pid_t,
    ended: Cell<bool>,
    looks: Cell<u32>,
    /// The turns that were done here after they had been waited for.
    in_vain: Cell<InVain>,
    scratch: RefCell<Scratch>,
}

impl WorkerProcess {
    /// Starts it, with so many lanes, on any processor but `not_on`. The carrier is its own.
    pub(crate) fn start<M: SharedMemory>(
        room: usize,
        slots: SealedSlots<M>,
        not_on: Option<usize>,
    ) -> Result<Self, Error> {
        let ring =
            Ring::new(room).map_err(|errno| Error::System { what: "memory for two processes", errno })?;
        let processors = not_on.and_then(all_but);
        // SAFETY: the call takes nothing.
        let program = unsafe { libc::getpid() };
        // It inherits the mask, and never runs a handler of the program.
        let _blocked = Blocked::all();
        // SAFETY: without flags it is a `fork` that tells nobody of its child's end. The child touches what is on this
        // stack, the ring and shared memory; it allocates nothing, takes no lock and never returns.
        match unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } {
            0 => {
                let ends = Ends;
                prepare(processors.as_ref());
                serve(&ring, &slots, program);
                drop(ends);
                unreachable!("the process has ended")
            }
            process if process > 0 => {
                let second = WorkerProcess {
                    ring: ManuallyDrop::new(ring),
                    process: process as libc::pid_t,
                    program,
                    ended: Cell::new(false),
                    looks: Cell::new(0),
                    in_vain: Cell::new(InVain::default()),
                    scratch: RefCell::new(Scratch::new()),
                };
                let refused = |errno| Error::System { what: "memory for two processes", errno };
                second.ring.keep_to_these_two().map_err(refused)?;
                Ok(second)
            }
            _ => Err(Error::System {
                what: "a second process",
                errno: Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::AGAIN),
            }),
        }
    }

    /// Trusted memory that it takes beside its copy of the program, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.ring.bytes() + size_of::<Scratch>()
    }

    fn do_next<M: SharedMemory>(&self, slots: &SealedSlots<M>) -> bool {
        self.ring.do_next(slots, &mut self.scratch.borrow_mut(), || self.has_ended())
    }

    /// Does a turn that was waited for in vain. After too many of them the process is left to rest.
    fn do_alone<M: SharedMemory>(&self, slots: &SealedSlots<M>) {
        if self.do_next(slots) {
            let mut in_vain = self.in_vain.get();
            let is_too_much = in_vain.add(self.ring.begun());
            self.in_vain.set(in_vain);
            if is_too_much {
                // Asleep is as good.
                let _ =
                    self.ring.asleep().compare_exchange(AWAKE, RESTS, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    /// Tells whether it has ended: only if it was killed.
    fn has_ended(&self) -> bool {
        if !self.ended.get() {
            // SAFETY: the process is our child.
            let waited =
                unsafe { libc::waitpid(self.process, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
            // If somebody else has waited for it, it has ended too. A call that is refused says nothing.
            let is_gone = || Errno::from_io_error(&std::io::Error::last_os_error()) == Some(Errno::CHILD);
            self.ended.set(waited == self.process || (waited < 0 && is_gone()));
        }
        self.ended.get()
    }
}

impl<M: SharedMemory> PageWorker<M> for WorkerProcess {
    fn room(&self) -> usize {
        self.ring.room()
    }

    fn fill(&self, turn: Ticket, page: &[u8]) {
        self.ring.fill(turn, page);
    }

    fn ask(&self, turn: Ticket, carry: PageJob) {
        self.ring.ask(turn, carry);
    }

    fn go(&self) {
        // Either it sees what was asked for before it sleeps, or we see it asleep.
        fence(Ordering::SeqCst);
        let asleep = self.ring.asleep();
        if asleep.load(Ordering::Relaxed) != ASLEEP {
            return;
        }
        // Before it can see that it is woken.
        self.ring.woken().store(nanoseconds(), Ordering::Relaxed);
        if asleep.compare_exchange(ASLEEP, AWAKE, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            // The futex is there as long as we borrow it: waking cannot fail.
            let _ = futex::wake(asleep, futex::Flags::empty(), 1);
        }
    }

    fn outcome(&self, turn: Ticket) -> JobStatus {
        let outcome = self.ring.outcome(turn);
        if outcome != JobStatus::Pending {
            self.looks.set(0);
        }
        outcome
    }

    fn help(&self, slots: &SealedSlots<M>) {
        if !self.do_next(slots) {
            self.wait(slots);
        }
    }

    fn rests(&self) -> bool {
        self.ring.asleep().load(Ordering::Relaxed) == RESTS
    }

    fn wait(&self, slots: &SealedSlots<M>) {
        let looks = self.looks.get().wrapping_add(1);
        self.looks.set(looks);
        spin_loop();
        if PageWorker::<M>::rests(self) {
            self.do_next(slots);
        } else if looks > LOOKS_BEFORE_HELP {
            self.do_alone(slots);
        }
        if looks.is_multiple_of(LOOKS_BEFORE_YIELD) {
            std::thread::yield_now();
        }
        if self.ended.get() || (looks.is_multiple_of(LOOKS_BEFORE_DOUBT) && self.has_ended()) {
            self.ring.do_all_again(slots, &mut self.scratch.borrow_mut());
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // SAFETY: the call takes nothing.
        if unsafe { libc::getpid() } != self.program {
            // A child after `fork` has no part in it, nor the memory.
            return;
        }
        self.ring.stop().store(1, Ordering::SeqCst);
        self.ring.asleep().store(AWAKE, Ordering::SeqCst);
        let _ = futex::wake(self.ring.asleep(), futex::Flags::empty(), 1);
        if !self.ended.get() {
            // SAFETY: as in `has_ended`. It ends at its next look.
            unsafe { libc::waitpid(self.process, std::ptr::null_mut(), libc::__WALL) };
        }
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.ring) };
    }
}

/// The monotonic clock, which both processes read.
fn nanoseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn all_but(processor: usize) -> Option<CpuSet> {
    let mut set = rustix::thread::sched_getaffinity(None).ok()?;
    set.unset(processor);
    (set.count() > 0).then_some(set)
}

/// Ends the process, also if something goes wrong in it: it must never go on as a second program.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, 0) };
    }
}

/// Leaves to the program what is the program's. All of it is as well as can be: nothing depends on it.
fn prepare(processors: Option<&CpuSet>) {
    // SAFETY: the descriptors are copies; a name, a flag and a lock change nothing else.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"ameles-pager".as_ptr());
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        // Not by the function: a program under `ameles page run` has another, which asks the region.
        if libc::syscall(libc::SYS_mlockall, libc::MCL_CURRENT | libc::MCL_ONFAULT) != 0 {
            say(&UNLOCKED);
        }
        libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0);
    }
    if let Some(processors) = processors {
        let _ = rustix::thread::sched_setaffinity(None, processors);
    }
}

fn serve<M: SharedMemory>(ring: &Ring, slots: &SealedSlots<M>, program: libc::pid_t) {
    // SAFETY: it is this process's, and nobody else asks for it.
    let scratch = unsafe { ring.scratch_beside() };
    let mut last = Instant::now();
    let (mut worked, mut rested) = (last, last);
    let mut rests = Rests::new();
    // SAFETY: the call takes nothing.
    let is_alone = || unsafe { libc::getppid() } != program;
    let waits = || {
        if is_alone() {
            drop(Ends);
        }
        false
    };
    while ring.stop().load(Ordering::Relaxed) == 0 {
        let has_worked = ring.do_next(slots, scratch, waits);
        if !has_worked {
            spin_loop();
        }
        let now = Instant::now();
        if has_worked {
            worked = now;
        }
        let mut is_lost = now - last > LOST || ring.asleep().load(Ordering::Relaxed) == RESTS;
        if !is_lost && now - worked > SPIN_TIME {
            is_lost = sleep_until_woken(ring) > LOST;
            worked = Instant::now();
        }
        if is_lost {
            rest(ring, rests.loses(worked.max(now) - rested), is_alone);
            (rested, worked) = (Instant::now(), Instant::now());
        }
        last = worked.max(now);
        if last > now && is_alone() {
            return;
        }
    }
}

/// Sleeps until the program wakes it, or for a while. Returns the time from then until it had a processor: whoever is woken
/// late has not had one either.
fn sleep_until_woken(ring: &Ring) -> Duration {
    sleep(ring, ASLEEP, LOOKS_UP);
    if ring.asleep().swap(AWAKE, Ordering::SeqCst) != AWAKE {
        return Duration::ZERO;
    }
    Duration::from_nanos(nanoseconds().saturating_sub(ring.woken().load(Ordering::Relaxed)))
}

/// Sleeps for so long, again and again, until a processor is free, the program has ended, or it is to stop.
fn rest(ring: &Ring, length: Duration, is_alone: impl Fn() -> bool) {
    let is_over = || ring.stop().load(Ordering::Relaxed) != 0 || is_alone();
    let mut ends = false;
    while !ends && !is_over() {
        let (begin, idle) = (Instant::now(), idle_time());
        while begin.elapsed() < length && !is_over() {
            sleep(ring, RESTS, LOOKS_UP.min(length));
        }
        let idle = idle_time().zip(idle).map(|(now, before)| now.saturating_sub(before));
        ends = Rests::ends(begin.elapsed(), idle);
    }
    ring.asleep().store(AWAKE, Ordering::SeqCst);
}

/// Sleeps until it is woken or so much time has gone by.
fn sleep(ring: &Ring, how: u32, max: Duration) {
    ring.asleep().store(how, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    if (how == RESTS || ring.is_all_begun()) && ring.stop().load(Ordering::SeqCst) == 0 {
        let max = Timespec { tv_sec: 0, tv_nsec: max.as_nanos() as i64 };
        // Woken, interrupted, late or changed before we slept: look again in any case.
        let _ = futex::wait(ring.asleep(), futex::Flags::empty(), how, Some(&max));
    }
}
