//! The limits on the cost of a large object before its first byte.

use super::conflict;
use crate::swift::refusal::Outcome;

/// The most levels of static large objects within others.
pub(super) const MAX_DEPTH: usize = 10;
/// The most entries of all its lists, each time that one is read: the cost of a get before its first byte.
pub(super) const MAX_PIECES: usize = 10_000;
/// The most objects of a dynamic one, which are counted through in memory.
pub(super) const MAX_DYNAMIC_PIECES: usize = 1_000_000;

/// The budget of pieces of a large object, however deep its lists stand within others.
pub(super) struct PieceBudget {
    remaining: usize,
}

impl PieceBudget {
    pub(super) fn of(pieces: usize) -> Self {
        PieceBudget { remaining: pieces }
    }

    /// # Errors
    /// 409 if there are more pieces.
    pub(super) fn spend(&mut self, pieces: usize) -> Outcome<()> {
        let too_many = || conflict("The large object is made of too many pieces.");
        self.remaining = self.remaining.checked_sub(pieces).ok_or_else(too_many)?;
        Ok(())
    }
}
