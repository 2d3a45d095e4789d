//! A thread's share of a job: a range of parts. Its owner takes parts from the front, and other threads take parts from
//! the back. The lane also holds the state of its owner's sleep.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The log2 of the maximum number of jobs between two that wake the owner, even if it often found no work.
const MAX_SKIPPED_LOG2: u32 = 6;

/// A lane. It has two cache lines of its own, because processors fetch them in pairs and its owner polls it.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Lane {
    /// The first part that is not taken (upper half) and the end of the range (lower half). Empty if they are equal.
    range: AtomicU64,
    /// True if the owner sleeps, or is about to.
    asleep: AtomicBool,
    /// The number of times in a row, up to a bound, that the owner was woken and found no part.
    wasted_wakeups: AtomicU32,
    /// The number of jobs that do not wake the owner from now on.
    jobs_to_skip: AtomicU32,
}

fn pack(first: u32, end: u32) -> u64 {
    u64::from(first) << 32 | u64::from(end)
}

fn unpack(range: u64) -> (u32, u32) {
    ((range >> 32) as u32, range as u32)
}

impl Lane {
    /// Offers the parts `first..end`. A thread that takes a part sees everything written before.
    pub(crate) fn offer(&self, first: u32, end: u32) {
        // SeqCst, as in `prepare_to_sleep`: the owner sees the parts before it sleeps, or the caller sees it asleep.
        self.range.store(pack(first, end), Ordering::SeqCst);
    }

    pub(crate) fn take_first(&self) -> Option<u32> {
        self.take(|first, end| (first, first + 1, end))
    }

    pub(crate) fn take_last(&self) -> Option<u32> {
        self.take(|first, end| (end - 1, first, end - 1))
    }

    fn take(&self, part: impl Fn(u32, u32) -> (u32, u32, u32)) -> Option<u32> {
        let mut seen = self.range.load(Ordering::Relaxed);
        loop {
            let (first, end) = unpack(seen);
            if first >= end {
                return None;
            }
            let (taken, first, end) = part(first, end);
            // The range may have been emptied and offered again in between. That does no harm: the part belongs to the
            // job that is offered now, and the job is read after this.
            match self.range.compare_exchange_weak(
                seen,
                pack(first, end),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(taken),
                Err(now) => seen = now,
            }
        }
    }

    fn is_empty(&self, ordering: Ordering) -> bool {
        let (first, end) = unpack(self.range.load(ordering));
        first >= end
    }

    /// Returns whether there are parts, without taking one.
    pub(crate) fn has_work(&self) -> bool {
        !self.is_empty(Ordering::Relaxed)
    }

    /// Announces that the owner is about to sleep. `false` if it must not, because there is work. `did_work` says
    /// whether it has done any part since it was woken.
    pub(crate) fn prepare_to_sleep(&self, did_work: bool) -> bool {
        let wasted_wakeups = if did_work {
            0
        } else {
            (self.wasted_wakeups.load(Ordering::Relaxed) + 1).min(MAX_SKIPPED_LOG2)
        };
        self.wasted_wakeups.store(wasted_wakeups, Ordering::Relaxed);
        self.jobs_to_skip.store((1 << wasted_wakeups) - 1, Ordering::Relaxed);
        self.asleep.store(true, Ordering::SeqCst);
        let may_sleep = self.is_empty(Ordering::SeqCst);
        if !may_sleep {
            self.asleep.store(false, Ordering::Relaxed);
        }
        may_sleep
    }

    /// Returns whether the owner is to be woken now, and marks it as awake.
    ///
    /// Waking costs the caller microseconds, and on a busy machine its processor too. So an owner that found no part
    /// the last times it was woken is skipped for 1, 3, 7, … jobs. Jobs that are too rare for it to help, and machines
    /// without a free processor, then cost almost nothing.
    pub(crate) fn take_wakeup(&self) -> bool {
        if !self.asleep.load(Ordering::SeqCst) {
            return false;
        }
        let jobs_to_skip = self.jobs_to_skip.load(Ordering::Relaxed);
        if jobs_to_skip > 0 {
            self.jobs_to_skip.store(jobs_to_skip - 1, Ordering::Relaxed);
            return false;
        }
        self.asleep.swap(false, Ordering::SeqCst)
    }

    /// Returns whether the owner still sleeps.
    pub(crate) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }
}
