//! A thread's share of a job: a range of parts, taken from its front by the owner and from its back by the others. And
//! the thread's sleep when there is no part.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// However often waking was in vain, one job in this many still wakes the owner (a power of two).
const MAX_SKIPPED_LOG2: u32 = 6;

/// Each lane has cache lines of its own, two because processors fetch them in pairs: its owner looks at it all the
/// time.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Lane {
    /// First part not taken yet (upper half) and the end of the range (lower half). Empty when they are equal.
    range: AtomicU64,
    /// The owner sleeps, or is about to.
    asleep: AtomicBool,
    /// Times in a row, up to a bound, that the owner was woken and found nothing left to do.
    in_vain: AtomicU32,
    /// Jobs that still go by before the owner is woken again.
    skip: AtomicU32,
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
        // SeqCst, as in `doze`: either the owner sees the parts before it sleeps, or the caller sees it asleep.
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
            // That the range may have been emptied and offered again in between does no harm: a part taken is a part of
            // the job that is offered now, and the job is looked at after this.
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

    /// Tells whether its owner has something to do; looks without claiming.
    pub(crate) fn has_work(&self) -> bool {
        !self.is_empty(Ordering::Relaxed)
    }

    /// The owner announces that it sleeps; `false` if it must not, because work came. `useful` says whether it has
    /// done anything since it was last awake.
    pub(crate) fn doze(&self, useful: bool) -> bool {
        let in_vain =
            if useful { 0 } else { (self.in_vain.load(Ordering::Relaxed) + 1).min(MAX_SKIPPED_LOG2) };
        self.in_vain.store(in_vain, Ordering::Relaxed);
        self.skip.store((1 << in_vain) - 1, Ordering::Relaxed);
        self.asleep.store(true, Ordering::SeqCst);
        let sleeps = self.is_empty(Ordering::SeqCst);
        if !sleeps {
            self.asleep.store(false, Ordering::Relaxed);
        }
        sleeps
    }

    /// Tells whether the owner is to be woken now; says so once.
    ///
    /// Waking takes the caller microseconds, and on a busy machine its processor too. So an owner that slept through
    /// the work when it was woken the last times is left alone for 1, 3, 7, … jobs: jobs that come too seldom for it
    /// to be of use, or a machine without a free processor, cost next to nothing.
    pub(crate) fn stir(&self) -> bool {
        if !self.asleep.load(Ordering::SeqCst) {
            return false;
        }
        let skip = self.skip.load(Ordering::Relaxed);
        if skip > 0 {
            self.skip.store(skip - 1, Ordering::Relaxed);
            return false;
        }
        self.asleep.swap(false, Ordering::SeqCst)
    }

    /// Tells whether no thread has woken the owner yet.
    pub(crate) fn sleeps(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }
}
