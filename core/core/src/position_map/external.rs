//! Positions from a front end, one before each access: the front end keeps the map, as that of Freecursive ORAM does.

use super::{Lookup, PositionMap};
use crate::oram::OramError;
use crate::types::Leaf;
use core::cell::Cell;
use core::marker::PhantomData;

/// The position of a block, and the one that it gets by the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionUpdate {
    /// The present leaf of the block; none if it was never mapped.
    pub old: Option<Leaf>,
    /// The leaf that it gets. The front end draws it, uniformly and only for this access.
    pub new: Leaf,
}

/// A position map that knows the position of the next access's block only.
pub struct ExternalPositions<E> {
    next: Cell<Option<PositionUpdate>>,
    error: PhantomData<E>,
}

impl<E> Default for ExternalPositions<E> {
    fn default() -> Self {
        ExternalPositions { next: Cell::new(None), error: PhantomData }
    }
}

impl<E> ExternalPositions<E> {
    /// Sets the position of the block that is accessed next.
    pub fn set_next(&self, update: PositionUpdate) {
        self.next.set(Some(update));
    }
}

impl<E: core::error::Error + 'static> PositionMap for ExternalPositions<E> {
    type Error = E;

    /// Serves the one look-up for a block that a batch may have.
    ///
    /// # Errors
    /// [`OramError::Contradiction`], if the front end set no position for it.
    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<E>> {
        for lookup in lookups.iter_mut().filter(|lookup| lookup.block.is_some()) {
            let update = self.next.take().ok_or(OramError::Contradiction("the front end set no position"))?;
            (lookup.old, lookup.new) = (update.old, update.new);
        }
        Ok(())
    }

    fn trusted_bytes(&self) -> usize {
        size_of::<Self>()
    }
}
