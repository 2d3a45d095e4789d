//! The limits on the work for a large object before its first byte.

use super::conflict;
use crate::swift::refusal::Outcome;

/// The largest depth of static large objects in others.
pub(super) const MAX_DEPTH: usize = 10;
/// The largest number of entries of all lists of an object, counted each time that a list is read.
pub(super) const MAX_PIECES: usize = 10_000;
/// The largest number of objects of a dynamic large object, which are counted in memory.
pub(super) const MAX_DYNAMIC_PIECES: usize = 1_000_000;

/// The remaining pieces of a large object, over all its nested lists.
pub(super) struct PieceBudget {
    remaining: usize,
}

impl PieceBudget {
    pub(super) fn of(pieces: usize) -> Self {
        PieceBudget { remaining: pieces }
    }

    /// Takes pieces from the budget.
    ///
    /// # Errors
    /// 409 if there are more pieces.
    pub(super) fn spend(&mut self, pieces: usize) -> Outcome<()> {
        let too_many = || conflict("The large object is made of too many pieces.");
        self.remaining = self.remaining.checked_sub(pieces).ok_or_else(too_many)?;
        Ok(())
    }
}
