//! The choice of the resident page that goes when there is room for no more.

/// The choice of the victim. Public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The page that came first, as in the paper.
    #[default]
    Fifo,
    /// The page that came first and was not touched in its second chance: of the resident pages the `unmapped` oldest
    /// are kept out of the application's sight. A touch of one brings it back to the young end of the queue and shows
    /// nothing to whoever watches the untrusted memory.
    ///
    /// It costs one page move more at every fault, and a trap and two moves at every such touch.
    SecondChance {
        /// The number of them: at least 1, fewer than the resident pages.
        unmapped: usize,
    },
}

/// The frames that a policy needs: one for each page out of sight; one for the page on its way.
pub fn frames(policy: Policy) -> usize {
    match policy {
        Policy::Fifo => 1,
        Policy::SecondChance { unmapped } => unmapped.max(1),
    }
}
