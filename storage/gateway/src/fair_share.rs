//! The rule by which accounts share a bounded resource, so that neither one of them nor a few can take all of it.
//!
//! One account alone gets three quarters, and the next one gets three quarters of the rest.

/// Returns whether enough stays free for other accounts: at least a third of what this account holds.
pub(crate) fn leaves_room(held: u64, free: u64) -> bool {
    free.saturating_mul(3) >= held
}
