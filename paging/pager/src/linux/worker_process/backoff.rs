//! The rules by which the worker process leaves a busy machine to others, and by which it resumes.
//!
//! It backs off when it loses its processor. A caller that waits for its job would wait as long, and the worker takes a
//! processor from the program. It resumes when a processor was idle for most of the backoff; to find that out by
//! running would take the processor from others. If it loses its processor again soon, the next backoff is longer. All
//! of this depends on the load of the machine only.

use ameles_seal::pages::Ticket;
use rustix::fs::{Mode, OFlags};
use std::time::Duration;

/// The time between two polls, or in a job, from which on another program has had the processor, and not only the
/// kernel.
pub(super) const PREEMPTED_AFTER: Duration = Duration::from_millis(1);

/// The shortest and the longest backoff. The kernel counts idle time in units of ten milliseconds.
const MIN_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_millis(1600);

/// The undisturbed work, as a multiple of the last backoff, after which the next backoff is the shortest again.
const PROVEN_AFTER: u32 = 20;

/// The wasted waits, beyond a quarter of all jobs, after which the worker backs off.
const MAX_WASTED_WAITS: u64 = 1 << 8;

/// The jobs for which the caller waited and that it then ran itself.
#[derive(Clone, Copy, Default)]
pub(super) struct WastedWaits {
    /// Four for each of them, minus one for each job claimed since.
    score: u64,
    /// The last ticket.
    last: Ticket,
}

impl WastedWaits {
    /// Adds a job. Returns `true` if there were too many recently; the score then restarts at 0.
    pub(super) fn add(&mut self, ticket: Ticket) -> bool {
        let score = self.score.saturating_sub(ticket - self.last) + 4;
        let is_too_many = score >= 4 * MAX_WASTED_WAITS;
        *self = WastedWaits { score: if is_too_many { 0 } else { score }, last: ticket };
        is_too_many
    }
}

/// The length of the last backoff.
pub(super) struct Backoff {
    length: Duration,
}

impl Backoff {
    pub(super) const fn new() -> Self {
        Backoff { length: Duration::ZERO }
    }

    /// Records that the processor was lost after so much time of work. Returns the length of the backoff.
    pub(super) fn on_processor_lost(&mut self, worked: Duration) -> Duration {
        let again = worked < PROVEN_AFTER * self.length;
        self.length = if again { (2 * self.length).min(MAX_BACKOFF) } else { MIN_BACKOFF };
        self.length
    }

    /// Returns whether to resume after a backoff during which all processors together were idle for `idle`. If the
    /// kernel does not report it, the worker resumes.
    pub(super) fn should_resume(backed_off: Duration, idle: Option<Duration>) -> bool {
        idle.is_none_or(|idle| idle >= backed_off * 3 / 4)
    }
}

/// Returns the idle time of all processors of the machine together. Allocates nothing.
pub(super) fn idle_time() -> Option<Duration> {
    let file = rustix::fs::open(c"/proc/stat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = [0; 256];
    let read = rustix::io::read(&file, &mut text).ok()?;
    let ticks = idle_ticks(&text[..read])?;
    let second = rustix::param::clock_ticks_per_second();
    Some(Duration::from_millis(ticks * 1000 / second))
}

/// Parses the fourth and the fifth number of the first line, proc_stat(5): idle, and idle while waiting for a disk.
fn idle_ticks(text: &[u8]) -> Option<u64> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace().skip(4);
    let mut next = || words.next()?.parse::<u64>().ok();
    next()?.checked_add(next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn repeated_losses_of_the_processor_make_backoffs_longer_and_long_work_makes_them_short() {
        let mut backoff = Backoff::new();
        let taken: Vec<Duration> = (0..7).map(|_| backoff.on_processor_lost(millis(12))).collect();
        assert_eq!(taken, [100, 200, 400, 800, 1600, 1600, 1600].map(millis));
        assert_eq!(backoff.on_processor_lost(millis(31_999)), millis(1600));
        assert_eq!(backoff.on_processor_lost(millis(32_000)), millis(100));
        // A time slice of a busy machine does not reset the length, however short the backoff was.
        assert_eq!(backoff.on_processor_lost(millis(100)), millis(200));
    }

    /// Returns the jobs until there are too many wasted waits, where each nth job is one.
    fn jobs_until_too_many(nth: usize) -> Option<Ticket> {
        let mut wasted_waits = WastedWaits::default();
        (1..=100_000).step_by(nth).find(|ticket| wasted_waits.add(*ticket))
    }

    #[test]
    fn wasted_waits_for_more_than_a_quarter_of_the_jobs_soon_end_in_a_backoff() {
        let job_protocol: Vec<Option<Ticket>> = (1..6).map(jobs_until_too_many).collect();
        assert_eq!(job_protocol, [Some(341), Some(1021), Some(3061), None, None]);
    }

    #[test]
    fn a_backoff_ends_when_a_processor_was_idle_for_most_of_it() {
        for (idle, resumes) in [(0, false), (74, false), (75, true), (100, true), (700, true)] {
            assert_eq!(Backoff::should_resume(millis(100), Some(millis(idle))), resumes, "{idle}");
        }
        assert!(Backoff::should_resume(millis(100), None));
    }

    #[test]
    fn idle_time_is_read_and_grows() {
        assert_eq!(idle_ticks(b"cpu  10 20 30 400 5 6 7 8 9 0\ncpu0 1 1 1 1 1"), Some(405));
        assert_eq!(idle_ticks(b"cpu  10 20 x 400"), None);
        let first = idle_time().expect("this kernel reports it");
        assert!(idle_time().is_some_and(|second| second >= first));
    }
}
