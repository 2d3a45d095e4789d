//! Paths that are known before they are read: lines 3 and 7 some time before lines 4 and 8.
//!
//! A controller that orders the paths of several requests must know them first. A reserved block already has its new
//! position, so the PosMap block with this position may leave the buffer. The block itself is still at its old
//! position. Until it is [accessed](FreecursiveOram::access_reserved) there, nothing else may be done with it.

use super::labels::NewPosition;
use super::{FreecursiveOram, PositionEntry, check_block};
use crate::oram::OramError;
use crate::store::Store;
use crate::types::{BlockId, Leaf};
use alloc::vec::Vec;
use rand_core::{RngCore, SeedableRng};

/// A block that was remapped, and has not moved.
#[must_use = "the block is not where its position says until it is accessed"]
pub struct Reservation {
    block: BlockId,
    new_position: NewPosition,
}

impl Reservation {
    /// Returns the reserved block.
    pub fn block(&self) -> BlockId {
        self.block
    }

    /// The leaf of the path to be read; `None` for a block that was never mapped, whose path is drawn. Secret until the
    /// path is read.
    pub fn leaf(&self) -> Option<Leaf> {
        self.new_position.update.old
    }
}

impl<S: Store, R: RngCore + SeedableRng> FreecursiveOram<S, R> {
    /// The PosMap blocks that are missing for a block, the lowest first: [`next`](Self::next) looks for these on the
    /// trusted side. Nothing changes.
    ///
    /// # Errors
    /// [`OramError::OutOfRange`].
    pub fn missing(&self, block: BlockId) -> Result<Vec<BlockId>, OramError<S::Error>> {
        check_block(block, self.parameters().capacity)?;
        let (mut missing, mut at) = (Vec::new(), block);
        while let PositionEntry::Block(above, _) = self.address_space().position_entry(at) {
            if self.is_buffered(above) {
                break;
            }
            missing.push(above);
            at = above;
        }
        Ok(missing)
    }

    /// Gives a block for which nothing is missing its new position, and leaves it where it is.
    ///
    /// # Errors
    /// [`OramError::Contradiction`] if a PosMap block is missing for it; [`OramError::Backlogged`] as for
    /// [`access_block`](Self::access_block).
    pub fn reserve(&self, block: BlockId) -> Result<Reservation, OramError<S::Error>> {
        Ok(Reservation { block, new_position: self.assign_position(block)? })
    }

    /// Accesses a block that was reserved, or brings it into the buffer if it is a PosMap block: one path.
    ///
    /// # Errors
    /// The errors of [`access_block`](Self::access_block) and [`fetch`](Self::fetch).
    pub async fn access_reserved(
        &self,
        reservation: &Reservation,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        let Reservation { block, new_position } = reservation;
        if self.address_space().level(*block) > 0 {
            return self.fetch_remapped(*block, new_position).await;
        }
        self.access_remapped(*block, new_position, serve).await
    }
}
