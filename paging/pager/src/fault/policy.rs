//! The choice of the resident page to evict.

/// The choice of the victim. Public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The oldest page, as in the paper.
    #[default]
    Fifo,
    /// The oldest page that was not accessed in its second chance: the `unmapped` oldest resident pages are unmapped
    /// from the application. An access to one maps it again as the youngest, which an observer of the untrusted memory
    /// does not see.
    ///
    /// It costs one more page move at every fault, and a trap and two moves at every such access.
    SecondChance {
        /// The number of them: at least 1, fewer than the resident pages.
        unmapped: usize,
    },
}

/// The frames that a policy needs: one for each unmapped page, and one for the page being paged in.
pub fn frames(policy: Policy) -> usize {
    match policy {
        Policy::Fifo => 1,
        Policy::SecondChance { unmapped } => unmapped.max(1),
    }
}
