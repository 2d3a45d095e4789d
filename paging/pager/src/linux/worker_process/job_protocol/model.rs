//! Checks every interleaving of two sides, and every value that a machine's memory may show them (loom).

use super::*;
use ameles_seal::pages::PageId;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use std::panic::catch_unwind;

const SLOTS: usize = 3;

/// The ordering that is weakened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weakened {
    Nothing,
    Loads,
    Stores,
}

struct ModelCounter(AtomicU64, Weakened);

impl SharedCounter for ModelCounter {
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(if self.1 == Weakened::Loads { Ordering::Relaxed } else { order })
    }

    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, if self.1 == Weakened::Stores { Ordering::Relaxed } else { order });
    }

    fn exchange(&self, expected: u64, new: u64) -> Result<u64, u64> {
        self.0.compare_exchange_weak(expected, new, Ordering::Relaxed, Ordering::Relaxed)
    }
}

/// The contents of a slot: a version, and a byte in place of the page.
type Sealed = (u64, u8);

/// The memory of two processes. Loom fails if a side reads a cell that the other may be writing.
struct Model {
    submitted: ModelCounter,
    claimed: ModelCounter,
    done: Vec<ModelCounter>,
    jobs: Vec<UnsafeCell<PageJob>>,
    buffers: Vec<UnsafeCell<u8>>,
    slots: [UnsafeCell<Sealed>; SLOTS],
}

impl Model {
    fn new(capacity: usize, submitting: Weakened, finishing: Weakened) -> Self {
        Model {
            submitted: ModelCounter(AtomicU64::new(0), submitting),
            claimed: ModelCounter(AtomicU64::new(0), Weakened::Nothing),
            done: (0..capacity).map(|_| ModelCounter(AtomicU64::new(0), finishing)).collect(),
            jobs: (0..capacity).map(|_| UnsafeCell::new(PageJob::default())).collect(),
            buffers: (0..capacity).map(|_| UnsafeCell::new(0)).collect(),
            slots: std::array::from_fn(|_| UnsafeCell::new((0, 0))),
        }
    }

    fn index(&self, ticket: Ticket) -> usize {
        ticket as usize % self.buffers.len()
    }

    fn fill(&self, ticket: Ticket, byte: u8) {
        // SAFETY: loom checks that no other thread uses the cell.
        self.buffers[self.index(ticket)].with_mut(|buffer| unsafe { *buffer = byte });
    }

    fn open(&self, id: PageId) -> Option<u8> {
        // SAFETY: as above.
        let (version, byte) = self.slots[id.slot as usize].with(|slot| unsafe { *slot });
        (version == id.version).then_some(byte)
    }
}

impl SharedRing for Model {
    type Counter = ModelCounter;

    fn submitted(&self) -> &ModelCounter {
        &self.submitted
    }

    fn claimed(&self) -> &ModelCounter {
        &self.claimed
    }

    fn done(&self, ticket: Ticket) -> &ModelCounter {
        &self.done[self.index(ticket)]
    }

    fn capacity(&self) -> usize {
        self.buffers.len()
    }

    fn write_job(&self, ticket: Ticket, job: PageJob) {
        // SAFETY: as above.
        self.jobs[self.index(ticket)].with_mut(|entry| unsafe { *entry = job });
    }

    fn read_job(&self, ticket: Ticket) -> PageJob {
        // SAFETY: as above.
        self.jobs[self.index(ticket)].with(|entry| unsafe { *entry })
    }

    fn pause(&self, _: u32) {
        loom::thread::yield_now();
    }
}

impl Runner for &Model {
    fn run(&mut self, ticket: Ticket, job: &PageJob) -> bool {
        let opened = match job.open.map(|id| self.open(id)) {
            Some(None) => return false,
            Some(opened) => opened,
            None => None,
        };
        let Some((to, source)) = job.seal else {
            self.fill(ticket, opened.expect("a job does something"));
            return true;
        };
        // SAFETY: as above.
        let buffered = || self.buffers[self.index(source)].with(|buffer| unsafe { *buffer });
        let byte = opened.filter(|_| source == ticket).unwrap_or_else(buffered);
        // SAFETY: as above.
        self.slots[to.slot as usize].with_mut(|slot| unsafe { *slot = (to.version, byte) });
        true
    }

    fn complete_interrupted(&mut self, _: Ticket, _: &PageJob) -> bool {
        false
    }

    fn has_peer_ended(&self) -> bool {
        false
    }
}

fn id(slot: u32, version: u64) -> PageId {
    PageId { slot, version }
}

/// Submits these jobs, at most half as many at a time as there are buffers, and helps with them. Checks the contents of
/// a slot at the end. `max_switches` bounds how often a side is preempted.
fn run_jobs(
    jobs: &[PageJob],
    capacity: usize,
    max_switches: Option<usize>,
    [submitting, finishing]: [Weakened; 2],
    expected: (u32, Sealed),
) {
    let (jobs, max_in_flight) = (jobs.to_vec(), capacity as Ticket / 2);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = max_switches;
    builder.check(move || {
        let model = Arc::new(Model::new(capacity, submitting, finishing));
        let (shared, count) = (Arc::clone(&model), jobs.len());
        let worker = loom::thread::spawn(move || {
            // It tries to run a job once for each job but the last. The other side runs the rest.
            for _ in 1..count {
                run_next(&*shared, &mut &*shared);
            }
        });
        let wait_for = |ticket| {
            while status(&*model, ticket) == JobStatus::Pending {
                if !run_next(&*model, &mut &*model) {
                    loom::thread::yield_now();
                }
            }
        };
        for (ticket, job) in (1..).zip(&jobs) {
            if ticket > max_in_flight {
                wait_for(ticket - max_in_flight);
            }
            if job.open.is_none() && job.seal.is_some_and(|(_, source)| source == ticket) {
                model.fill(ticket, ticket as u8);
            }
            submit(&*model, ticket, *job);
        }
        let last = jobs.len() as Ticket;
        (last.saturating_sub(max_in_flight) + 1..=last).for_each(wait_for);
        assert_eq!(status(&*model, last), JobStatus::Done);
        let (slot, (version, byte)) = expected;
        assert_eq!(model.open(id(slot, version)), Some(byte));
        worker.join().expect("it does not panic");
    });
}

/// Returns jobs that move the page of job 1 from slot to slot.
fn chain() -> Vec<PageJob> {
    vec![
        PageJob { open: None, seal: Some((id(0, 1), 1)), after: [0, 0] },
        PageJob { open: Some(id(0, 1)), seal: Some((id(1, 1), 2)), after: [1, 0] },
        PageJob { open: Some(id(1, 1)), seal: Some((id(2, 1), 3)), after: [1, 0] },
    ]
}

/// Returns jobs that prefetch a page, fill another buffer, and seal that buffer in the slot of the first page. Job 4
/// waits for both.
fn prefetch(after: [u32; 2]) -> Vec<PageJob> {
    vec![
        PageJob { open: None, seal: Some((id(1, 1), 1)), after: [0, 0] },
        PageJob { open: Some(id(1, 1)), seal: None, after: [1, 0] },
        PageJob { open: None, seal: Some((id(0, 1), 3)), after: [0, 0] },
        PageJob { open: None, seal: Some((id(1, 2), 3)), after },
    ]
}

const ORDERED: [Weakened; 2] = [Weakened::Nothing; 2];

#[test]
fn two_sides_leave_the_same_pages_as_one_in_every_interleaving() {
    // Two jobs, one at a time and both at once, under all interleavings.
    run_jobs(&chain()[..2], 2, None, ORDERED, (1, (1, 1)));
    run_jobs(&chain()[..2], 4, None, ORDERED, (1, (1, 1)));
    // A buffer that is used again, three jobs at a time, and four jobs that do not all wait for one another.
    run_jobs(&chain(), 2, Some(2), ORDERED, (2, (1, 1)));
    run_jobs(&chain(), 6, Some(3), ORDERED, (2, (1, 1)));
    run_jobs(&prefetch([0, 2]), 6, Some(2), ORDERED, (1, (2, 3)));
}

#[test]
fn a_weakened_ordering_is_found() {
    for weakened in [Weakened::Loads, Weakened::Stores] {
        // First of the submitted counter, then of the statuses.
        for orders in [[weakened, Weakened::Nothing], [Weakened::Nothing, weakened]] {
            let found = catch_unwind(|| run_jobs(&chain()[..2], 4, None, orders, (1, (1, 1))));
            assert!(found.is_err(), "{orders:?}");
        }
    }
    let found = catch_unwind(|| run_jobs(&prefetch([0, 0]), 6, Some(2), ORDERED, (1, (2, 3))));
    assert!(found.is_err(), "a job that does not wait for the one that prefetches its slot");
}
