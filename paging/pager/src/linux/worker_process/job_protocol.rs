//! The protocol by which two processes share page jobs: one submits jobs, and both claim and run them.
//!
//! Jobs are claimed in the order of their tickets, each by one side only. The protocol is generic over its shared
//! counters, so that a model of memory can check it.

use ameles_seal::pages::{JobStatus, PageJob, Ticket};
use std::sync::atomic::Ordering;

/// The number of polls of a job of the other side before this side checks whether the other has ended. A poll takes
/// about forty nanoseconds, and a job takes a microsecond.
const POLLS_BEFORE_DOUBT: u32 = 1 << 14;

/// A counter that both sides read and write.
pub(super) trait SharedCounter {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn exchange(&self, expected: u64, new: u64) -> Result<u64, u64>;
}

/// The memory that both sides share, with a page buffer for each of `capacity` jobs.
pub(super) trait SharedRing {
    type Counter: SharedCounter;

    /// The last ticket that was submitted.
    fn submitted(&self) -> &Self::Counter;

    /// The last ticket that was claimed.
    fn claimed(&self) -> &Self::Counter;

    /// Twice the last ticket that is done in this job's buffer, plus 1 if that job was forged.
    fn done(&self, ticket: Ticket) -> &Self::Counter;

    fn capacity(&self) -> usize;

    /// Writes a job. The other side reads neither it nor its buffer meanwhile.
    fn write_job(&self, ticket: Ticket, job: PageJob);

    /// Reads a job. No side writes it meanwhile.
    fn read_job(&self, ticket: Ticket) -> PageJob;

    /// Passes time between two polls of a job of the other side.
    fn pause(&self, polls: u32);
}

/// A side that runs jobs, with its knowledge of the other side.
pub(super) trait Runner {
    /// Runs a job. `false` if a page did not open, or the page that it should seal did not.
    fn run(&mut self, ticket: Ticket, job: &PageJob) -> bool;

    /// Completes a job of the other side, which has ended, if it had begun to copy a page to shared memory. `false` if
    /// it had not.
    fn complete_interrupted(&mut self, ticket: Ticket, job: &PageJob) -> bool;

    /// Returns whether the other side has ended.
    fn has_peer_ended(&self) -> bool;
}

/// Submits a job. The jobs that used its buffer before are done.
pub(super) fn submit(ring: &impl SharedRing, ticket: Ticket, job: PageJob) {
    ring.write_job(ticket, job);
    ring.submitted().store(ticket, Ordering::Release);
}

/// Returns the status of a job, until its buffer is used again.
pub(super) fn status(ring: &impl SharedRing, ticket: Ticket) -> JobStatus {
    match ring.done(ticket).load(Ordering::Acquire) {
        done if done == ticket * 2 => JobStatus::Done,
        done if done == ticket * 2 + 1 => JobStatus::Forged,
        _ => JobStatus::Pending,
    }
}

/// Claims the next job, if there is one.
pub(super) fn claim(ring: &impl SharedRing) -> Option<Ticket> {
    let mut last = ring.claimed().load(Ordering::Relaxed);
    while last < ring.submitted().load(Ordering::Acquire) {
        match ring.claimed().exchange(last, last + 1) {
            Ok(_) => return Some(last + 1),
            Err(now) => last = now,
        }
    }
    None
}

/// Claims and runs the next job. `false` if there is none.
pub(super) fn run_next(ring: &impl SharedRing, runner: &mut impl Runner) -> bool {
    let Some(ticket) = claim(ring) else { return false };
    run(ring, runner, ticket);
    true
}

/// Runs the jobs that the other side had claimed when it ended, and every job after them.
pub(super) fn run_unfinished(ring: &impl SharedRing, runner: &mut impl Runner) {
    let claimed = ring.claimed().load(Ordering::Relaxed);
    for ticket in claimed.saturating_sub(ring.capacity() as u64 / 2).max(1)..=claimed {
        if status(ring, ticket) == JobStatus::Pending {
            run_abandoned(ring, runner, ticket);
        }
    }
    while run_next(ring, runner) {}
}

/// Runs a job that the other side had claimed when it ended.
fn run_abandoned(ring: &impl SharedRing, runner: &mut impl Runner, ticket: Ticket) {
    // It is not done, so its entry still holds the job.
    if runner.complete_interrupted(ticket, &ring.read_job(ticket)) {
        ring.done(ticket).store(ticket * 2, Ordering::Release);
    } else {
        run(ring, runner, ticket);
    }
}

/// Runs a claimed job when its prerequisites are done.
fn run(ring: &impl SharedRing, runner: &mut impl Runner, ticket: Ticket) {
    let job = ring.read_job(ticket);
    for before in job.prerequisites(ticket) {
        let mut polls = 0u32;
        while status(ring, before) == JobStatus::Pending {
            polls = polls.wrapping_add(1);
            ring.pause(polls);
            if polls.is_multiple_of(POLLS_BEFORE_DOUBT) && runner.has_peer_ended() {
                // Every earlier job was claimed, and this side runs one job at a time: the other side had claimed it.
                run_abandoned(ring, runner, before);
            }
        }
    }
    let forged = !runner.run(ticket, &job);
    ring.done(ticket).store(ticket * 2 + u64::from(forged), Ordering::Release);
}

#[cfg(test)]
mod model;
