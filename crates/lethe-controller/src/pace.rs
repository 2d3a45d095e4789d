//! The times at which paths may begin: the protection of the timing channel.

use lethe_processor::units::Cycle;

/// The rule for the beginning of a path. With a rate, a path that nothing waits for is a dummy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A path begins when it is needed and the one before it has ended: the number of paths and their times show.
    Free,
    /// A path begins T cycles after the one before it began, or when that ended if a refresh of the memory made it longer.
    FromStart(u64),
    /// A path begins T cycles after the one before it ended.
    FromEnd(u64),
}

/// The times of the last path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Last {
    pub(crate) start: Cycle,
    pub(crate) end: Cycle,
}

impl Pace {
    /// Tells whether paths come at a rate, needed or not.
    pub fn is_fixed(self) -> bool {
        self != Pace::Free
    }

    /// The first cycle at which the next path may begin.
    pub(crate) fn next(self, last: Last) -> Cycle {
        match self {
            Pace::Free => last.end,
            Pace::FromStart(cycles) => Cycle(last.end.0.max(last.start.0 + cycles)),
            Pace::FromEnd(cycles) => Cycle(last.end.0 + cycles),
        }
    }
}
