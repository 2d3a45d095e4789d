//! Bugs of a controller that tests inject, to check that they are detected. Outside tests there are none.

/// A bug of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedBug {
    /// A request that the tree top answers lets a turn pass without a path.
    HitSkipsItsTurn,
    /// A path that brings a PosMap block begins later than others: a third kind of path.
    PosMapComesLater,
    /// A full set of the tree top's index causes a path to be read and written again.
    FullSetShows,
    /// Early write-backs do not wait for the turn of a dummy.
    EarlyWorkComesEarly,
    /// The tree of the next path is the one that a request waits for, if there is room for its block.
    NoPattern,
    /// Requests overtake the dummies in Fork Path's queue.
    RequestsJumpTheQueue,
}

/// The bug of a machine, if it has one.
#[derive(Debug, Default)]
pub(crate) struct InjectedBugs {
    #[cfg(test)]
    pub(crate) only: Option<InjectedBug>,
}

impl InjectedBugs {
    /// Returns whether the machine has this bug.
    #[cfg(test)]
    pub(crate) fn has(&self, bug: InjectedBug) -> bool {
        self.only == Some(bug)
    }

    /// Returns whether the machine has this bug.
    #[cfg(not(test))]
    pub(crate) const fn has(&self, _: InjectedBug) -> bool {
        false
    }
}
