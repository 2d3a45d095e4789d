//! The rule by which accounts share what is bounded, so that no one of them, nor a few, can hold all.
//!
//! One account alone gets three quarters, the next three quarters of the rest.

/// Tells whether enough stays free for others beside an account that holds so much: at least a third of it.
pub(crate) fn leaves_room(held: u64, free: u64) -> bool {
    free.saturating_mul(3) >= held
}
