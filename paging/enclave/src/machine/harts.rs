//! The enclave's other harts: they run shares of the first hart's batches.
//!
//! They run in supervisor mode without translation, floating point or interrupts, each on its own stack. The argument
//! for all unsafe code: a job is a closure on the first hart's stack. [`EnclaveHarts::do_parts`] returns only after
//! each hart that got the offer has reported that it is done. A hart reads the job only between the offer and its
//! report. Parts are disjoint, and a lane has the number of its hart.

use super::end::launch_failed;
use super::hart::Hart;
use super::hart_wait::{HartWait, interrupt};
use super::instruction_counts::count_shares;
use crate::processor::{DistributedWork, Processor};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use ameles_enclave_boundary::exit::Ending;
use ameles_enclave_boundary::launch::MAX_HARTS;
use ameles_fork_join::{Workers, share};
use core::arch::global_asm;
use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sbi_rt::SbiRet;

/// The number of bytes of the stack of each hart.
const STACK_BYTES: usize = 0x2_0000;

type Work = dyn Fn(usize, usize) + Sync;

/// The current batch.
#[derive(Clone, Copy)]
struct Job {
    parts: usize,
    work: *const Work,
}

/// The harts that share batches, including the first.
pub(super) struct EnclaveHarts {
    /// True if shares are run one after the other, and counted.
    sequential_shares: bool,
    job: UnsafeCell<Option<Job>>,
    /// A batch is running.
    taken: AtomicBool,
    /// The first hart waits for the others.
    first: HartWait,
    others: Vec<HartSlot>,
}

/// The state of another hart; its cache lines are its own.
#[repr(align(128))]
#[derive(Default)]
struct HartSlot {
    wait: HartWait,
    /// The number of shares offered to it.
    offered: AtomicU64,
    /// The number of completed shares.
    done: AtomicU64,
    /// The number of instructions of the last one.
    took: AtomicU64,
}

impl HartSlot {
    fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst) == self.offered.load(Ordering::SeqCst)
    }
}

// SAFETY: only `job` is not Sync by itself. The first hart writes it while nothing is offered, and others read it while
// something is; offering and completing order the two. It points to a type that is Sync.
unsafe impl Sync for EnclaveHarts {}

/// The [`HartStart`] of each hart, for one that enters the runtime at the same address as the first one.
///
/// It is not in the zeroed section, which the first hart fills while another may read it.
#[unsafe(export_name = "ameles_enclave_places")]
#[unsafe(link_section = ".data")]
pub(super) static HART_STARTS: [AtomicU64; MAX_HARTS as usize] =
    [const { AtomicU64::new(0) }; MAX_HARTS as usize];

/// Starts harts up to this number, including the first.
///
/// # Errors
/// The machine does not have them.
pub(super) fn start(harts: usize, sequential_shares: bool) -> Result<&'static EnclaveHarts, Ending> {
    let workers: &'static EnclaveHarts = Box::leak(Box::new(EnclaveHarts {
        sequential_shares,
        job: UnsafeCell::new(None),
        taken: AtomicBool::new(false),
        first: if sequential_shares { HartWait::counted() } else { HartWait::default() },
        others: (1..harts).map(|_| HartSlot::default()).collect(),
    }));
    for (hart, place) in HART_STARTS.iter().enumerate().take(harts).skip(1) {
        let stack: &'static mut [u128] = vec![0; STACK_BYTES / size_of::<u128>()].leak();
        let end = stack.as_mut_ptr_range().end.cast::<HartStart>().wrapping_sub(1);
        // SAFETY: the last bytes of the stack are aligned, long enough, and unused.
        unsafe { end.write(HartStart { workers }) };
        place.store(end.expose_provenance() as u64, Ordering::Release);
        match wait_for_state(hart)? {
            // It started the firmware, and waits for its place.
            STARTED => interrupt(1 << hart),
            _ => {
                let entry: unsafe extern "C" fn() = ameles_enclave_hart_start;
                sbi_value(hart, sbi_rt::hart_start(hart, entry as usize, end.expose_provenance()))?;
            }
        }
    }
    Ok(workers)
}

/// Waits until the firmware has started a hart in the runtime, or has stopped it, and returns which.
fn wait_for_state(hart: usize) -> Result<usize, Ending> {
    loop {
        match sbi_value(hart, sbi_rt::hart_get_status(hart))? {
            state @ (STARTED | STOPPED) => return Ok(state),
            _ => spin_loop(),
        }
    }
}

/// The firmware's answer about a hart.
fn sbi_value(hart: usize, answer: SbiRet) -> Result<usize, Ending> {
    if answer.error == 0 {
        return Ok(answer.value);
    }
    let error = answer.error as isize;
    Err(launch_failed(format!("the machine has no hart {hart} for the enclave: the firmware says {error}")))
}

/// The first hart, in a mask of harts.
const FIRST: usize = 1;
/// The firmware's states of a hart that runs, and of one that may be started.
const STARTED: usize = 0;
const STOPPED: usize = 1;

/// The data that a hart finds at the end of its stack.
#[repr(C, align(16))]
struct HartStart {
    workers: &'static EnclaveHarts,
}

unsafe extern "C" {
    fn ameles_enclave_hart_start();
}

// The firmware enters with the hart's number in a0 and the address of its `HartStart` in a1, without translation or
// interrupts.
global_asm!(
    ".section .text",
    ".global ameles_enclave_hart_start",
    "ameles_enclave_hart_start:",
    "mv sp, a1",
    "csrw sscratch, sp",
    "la t0, ameles_enclave_hart_trap",
    "csrw stvec, t0",
    "csrw scounteren, zero",
    "li t0, 0x6000",
    "csrc sstatus, t0",
    "csrw sie, zero",
    "j {run_hart}",
    // A trap, which must not happen: on the same stack from its beginning, because nothing on it is needed any more.
    ".balign 4",
    "ameles_enclave_hart_trap:",
    "csrr sp, sscratch",
    "csrr a0, scause",
    "csrr a1, sepc",
    "j {broken}",
    run_hart = sym run_hart,
    broken = sym super::trap::broken,
);

/// Runs the shares of a hart as long as the machine is on.
extern "C" fn run_hart(hart: usize, start: &HartStart) -> ! {
    let workers = start.workers;
    let slot = &workers.others[hart - 1];
    loop {
        workers.wait(&slot.wait, || !slot.is_done());
        // SAFETY: a share was offered and is not done: the first hart does not change the job.
        let job = unsafe { *workers.job.get() };
        slot.took.store(job.map_or(0, |job| workers.do_share(&job, hart)), Ordering::Relaxed);
        slot.done.store(slot.offered.load(Ordering::Relaxed), Ordering::SeqCst);
        if workers.first.is_asleep() {
            interrupt(FIRST);
        }
    }
}

impl EnclaveHarts {
    /// Runs a hart's share, and returns how many instructions it took.
    fn do_share(&self, job: &Job, hart: usize) -> u64 {
        let begin = Hart::retired_instructions();
        // SAFETY: the batch is running, so the closure exists.
        let work = unsafe { &*job.work };
        share(job.parts, self.lanes(), hart).for_each(|part| work(hart, part));
        Hart::retired_instructions() - begin
    }

    fn wait(&self, wait: &HartWait, is_true: impl Fn() -> bool) {
        if self.sequential_shares { wait.until_interrupted(is_true) } else { wait.until(is_true) }
    }

    /// Offers a share to each of the harts from a number on.
    fn offer(&self, slots: &[HartSlot], from: usize) {
        let mut asleep = 0;
        for (hart, slot) in (from..).zip(slots) {
            slot.offered.fetch_add(1, Ordering::SeqCst);
            asleep |= usize::from(slot.wait.is_asleep()) << hart;
        }
        if asleep != 0 {
            interrupt(asleep);
        }
    }

    fn join(&self, slots: &[HartSlot]) {
        self.wait(&self.first, || slots.iter().all(HartSlot::is_done));
    }

    /// Runs all shares in parallel.
    fn run_in_parallel(&self, job: &Job, others: &[HartSlot]) {
        self.offer(others, 1);
        self.do_share(job, 0);
        self.join(others);
    }

    /// Runs one share after the other, and counts.
    fn run_sequentially(&self, job: &Job, others: &[HartSlot]) {
        let begin = Hart::retired_instructions();
        let own = self.do_share(job, 0);
        let (mut shared, mut longest) = (own, own);
        for (hart, slot) in (1..).zip(others) {
            let slot = core::slice::from_ref(slot);
            self.offer(slot, hart);
            self.join(slot);
            let took = slot[0].took.load(Ordering::Relaxed);
            (shared, longest) = (shared + took, longest.max(took));
        }
        let handing_over = Hart::retired_instructions() - begin - shared;
        count_shares(&DistributedWork { shared, longest, handing_over });
    }
}

// SAFETY: see the argument above. `share` covers all parts, each once.
unsafe impl Workers for EnclaveHarts {
    fn lanes(&self) -> usize {
        self.others.len() + 1
    }

    fn do_parts(&self, parts: usize, work: &(dyn Fn(usize, usize) + Sync)) {
        if parts < 2 {
            return (0..parts).for_each(|part| work(0, part));
        }
        assert!(!self.taken.swap(true, Ordering::Acquire), "there is one batch at a time");
        // SAFETY: only the lifetime changes; the job is removed before this returns.
        let work: *const Work =
            unsafe { core::mem::transmute::<&(dyn Fn(usize, usize) + Sync), &'static Work>(work) };
        let job = Job { parts, work };
        // SAFETY: no share is offered.
        unsafe { *self.job.get() = Some(job) };
        let others = &self.others[..self.others.len().min(parts - 1)];
        if self.sequential_shares {
            self.run_sequentially(&job, others)
        } else {
            self.run_in_parallel(&job, others)
        }
        // SAFETY: no share is offered any more.
        unsafe { *self.job.get() = None };
        self.taken.store(false, Ordering::Release);
    }
}
