//! The rule by which the process beside steps back from a busy machine, and comes again.
//!
//! It steps back when it loses its processor: whoever waits for its turn would wait as long, and its work takes a
//! processor from the program. It comes again when a processor has been idle for most of a rest: a look for one by
//! running would take it from others. Losing it again soon makes rests longer. All of it follows from the load of the
//! machine.

use ameles_seal::pages::Ticket;
use rustix::fs::{Mode, OFlags};
use std::time::Duration;

/// So much time between two looks, or in a turn, means that another program has had its processor, and not just the
/// kernel.
pub(super) const LOST: Duration = Duration::from_millis(1);

/// The kernel counts idle time in parts of ten milliseconds.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_millis(1600);

/// Rests' times of undisturbed work after which a loss is the first again.
const PROVEN: u32 = 20;

/// A caller waits for none when it has waited in vain for so many turns more than a quarter of all.
const MAX_IN_VAIN: u64 = 1 << 8;

/// The turns that a caller waited for in vain and then did itself.
#[derive(Clone, Copy, Default)]
pub(super) struct InVain {
    /// Four for each of them, less one for each turn begun since.
    score: u64,
    /// The last of them.
    last: Ticket,
}

impl InVain {
    /// Adds this turn. `true` if there were too many of late: the count then begins anew.
    pub(super) fn add(&mut self, turn: Ticket) -> bool {
        let score = self.score.saturating_sub(turn - self.last) + 4;
        let is_too_much = score >= 4 * MAX_IN_VAIN;
        *self = InVain { score: if is_too_much { 0 } else { score }, last: turn };
        is_too_much
    }
}

/// The rests so far.
pub(super) struct Rests {
    rest: Duration,
}

impl Rests {
    pub(super) const fn new() -> Self {
        Rests { rest: Duration::ZERO }
    }

    /// The processor was lost, after so much time of work: the rest to take.
    pub(super) fn loses(&mut self, worked: Duration) -> Duration {
        let again = worked < PROVEN * self.rest;
        self.rest = if again { (2 * self.rest).min(LONGEST) } else { SHORTEST };
        self.rest
    }

    /// The machine was idle for so much of a rest, all processors together: whether to come again. Where the kernel
    /// does not tell, it is tried.
    pub(super) fn ends(rested: Duration, idle: Option<Duration>) -> bool {
        idle.is_none_or(|idle| idle >= rested * 3 / 4)
    }
}

/// The time for which the machine's processors have been idle, all together. Allocates nothing.
pub(super) fn idle_time() -> Option<Duration> {
    let file = rustix::fs::open(c"/proc/stat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = [0; 256];
    let read = rustix::io::read(&file, &mut text).ok()?;
    let ticks = idle_ticks(&text[..read])?;
    let second = rustix::param::clock_ticks_per_second();
    Some(Duration::from_millis(ticks * 1000 / second))
}

/// The fourth and the fifth number of the first line, proc_stat(5): idle, and idle while a disk is awaited.
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
    fn a_processor_that_is_lost_again_and_again_makes_rests_longer_and_long_work_makes_them_short() {
        let mut rests = Rests::new();
        let taken: Vec<Duration> = (0..7).map(|_| rests.loses(millis(12))).collect();
        assert_eq!(taken, [100, 200, 400, 800, 1600, 1600, 1600].map(millis));
        assert_eq!(rests.loses(millis(31_999)), millis(1600));
        assert_eq!(rests.loses(millis(32_000)), millis(100));
        // A time slice of a busy machine is no proof, however short the rest was.
        assert_eq!(rests.loses(millis(100)), millis(200));
    }

    /// The turns until it is too much, where each nth is waited for in vain.
    fn turns_until_too_much(nth: usize) -> Option<Ticket> {
        let mut in_vain = InVain::default();
        (1..=100_000).step_by(nth).find(|turn| in_vain.add(*turn))
    }

    #[test]
    fn whoever_waits_in_vain_for_more_than_a_quarter_of_the_turns_soon_waits_for_none() {
        let turns: Vec<Option<Ticket>> = (1..6).map(turns_until_too_much).collect();
        assert_eq!(turns, [Some(341), Some(1021), Some(3061), None, None]);
    }

    #[test]
    fn a_rest_ends_when_a_processor_was_idle_for_most_of_it() {
        for (idle, ends) in [(0, false), (74, false), (75, true), (100, true), (700, true)] {
            assert_eq!(Rests::ends(millis(100), Some(millis(idle))), ends, "{idle}");
        }
        assert!(Rests::ends(millis(100), None));
    }

    #[test]
    fn idle_time_is_read_and_goes_on() {
        assert_eq!(idle_ticks(b"cpu  10 20 30 400 5 6 7 8 9 0\ncpu0 1 1 1 1 1"), Some(405));
        assert_eq!(idle_ticks(b"cpu  10 20 x 400"), None);
        let first = idle_time().expect("this kernel tells");
        assert!(idle_time().is_some_and(|second| second >= first));
    }
}
