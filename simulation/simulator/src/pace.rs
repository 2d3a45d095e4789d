//! The times at which paths may begin, which protect against the timing channel.

use ameles_processor::units::Cycle;

/// The rule for the beginning of a path. With a rate, a path that nothing waits for is a dummy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A path begins when it is needed and the one before it has ended: an observer sees the number of paths and their
    /// times.
    Free,
    /// A path begins T cycles after the previous one began, or when that ended if a refresh of the memory made it
    /// longer.
    FromStart(u64),
    /// A path begins T cycles after the one before it ended.
    FromEnd(u64),
    /// A path begins when it is needed, and a dummy when none was for T cycles. It hides how long a program is idle,
    /// and not when it makes requests. Up to four instructions are a cycle.
    Idle(u64),
    /// A path begins when it is needed. A dummy begins when the processor has fetched T instructions since the last
    /// path began. A stalled processor fetches no instructions, so there are no dummies during a stall.
    Instructions(u64),
    /// A path begins at each T-th instruction that the processor fetches: one of the program, or a no-op while a
    /// request of that waits. From that instruction on the processor fetches nothing until the path has been read, for
    /// its blocks fill the reorder buffer. So a path comes for each T instructions of the program, however long it
    /// takes, and one for each step of its requests. The authors' own simulator does so. The times need nothing of the
    /// program.
    Fetches(u64),
}

/// The times of the last path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastPath {
    pub(crate) start: Cycle,
    /// The cycle at which its last block was read.
    pub(crate) read: Cycle,
    /// The cycle at which the next path may begin.
    pub(crate) end: Cycle,
}

impl Pace {
    /// T, and its unit in words.
    pub(crate) fn rest(self) -> Option<(u64, &'static str)> {
        match self {
            Pace::Free => None,
            Pace::FromStart(cycles) | Pace::FromEnd(cycles) | Pace::Idle(cycles) => Some((cycles, "cycles")),
            Pace::Instructions(instructions) | Pace::Fetches(instructions) => {
                Some((instructions, "instructions"))
            }
        }
    }

    /// T in instructions, if they are counted.
    pub(crate) fn instructions(self) -> Option<u64> {
        if let Pace::Instructions(instructions) = self { Some(instructions) } else { None }
    }

    /// Returns whether there are dummies.
    pub fn has_dummies(self) -> bool {
        self != Pace::Free
    }

    /// The cycle from which on a processor of that width fetches nothing until the next path has been read.
    pub(crate) fn last_fetch(self, last: LastPath, width: u64) -> Option<Cycle> {
        let Pace::Fetches(instructions) = self else { return None };
        Some(Cycle(last.read.0.saturating_add(instructions.div_ceil(width))))
    }

    /// The first cycle at which a path that is needed may begin, with a processor of that width.
    pub(crate) fn next(self, last: LastPath, width: u64) -> Cycle {
        match self {
            Pace::Fetches(_) => last.end.max(self.last_fetch(last, width).unwrap_or_default()),
            Pace::Free | Pace::Idle(_) | Pace::Instructions(_) => last.end,
            Pace::FromStart(cycles) => Cycle(last.end.0.max(last.start.0.saturating_add(cycles))),
            Pace::FromEnd(cycles) => Cycle(last.end.0.saturating_add(cycles)),
        }
    }

    /// The cycle at which a dummy begins if no path is needed before. `None` if the pace does not count cycles.
    pub(crate) fn dummy(self, last: LastPath, width: u64) -> Option<Cycle> {
        match self {
            Pace::Free | Pace::Instructions(_) => None,
            Pace::Idle(cycles) => Some(Cycle(last.end.0.saturating_add(cycles))),
            Pace::FromStart(_) | Pace::FromEnd(_) | Pace::Fetches(_) => Some(self.next(last, width)),
        }
    }
}
