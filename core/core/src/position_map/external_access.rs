//! Accesses of single blocks whose positions a front end keeps, for the schemes that are its backend.

use crate::concurrency::poison::PoisonFlag;
use crate::oram::{Oram, OramError};
use crate::position_map::external::{ExternalPositions, PositionUpdate};
use crate::stash::Stash;
use crate::types::{BlockId, Leaf};
use alloc::vec::Vec;
use core::cell::RefMut;

/// A scheme over a tree whose positions are handed in.
pub(crate) trait ExternalPositionOram: Oram {
    /// The positions.
    fn external_positions(&self) -> &ExternalPositions<Self::Error>;

    /// Leaves of the tree.
    fn leaves(&self) -> u64;

    /// The stash, and its hard bound in blocks.
    fn stash(&self) -> (RefMut<'_, Stash>, usize);

    /// Its condition.
    fn poison_flag(&self) -> &PoisonFlag;

    /// Accesses the block, or a dummy, and lets `serve` read and change the payload.
    async fn access_one(
        &self,
        block: Option<BlockId>,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<Self::Error>>;
}

/// Accesses a block at a position.
///
/// # Errors
/// Those of [`Oram::access`]; [`OramError::Contradiction`] if the block is not there, or the new leaf is none of the
/// tree's.
pub(crate) async fn access_at<O: ExternalPositionOram>(
    oram: &O,
    block: BlockId,
    update: PositionUpdate,
    serve: impl FnOnce(&mut [u8]),
) -> Result<(), OramError<O::Error>> {
    check(oram, block, update.new)?;
    oram.external_positions().set_next(update);
    oram.access_one(Some(block), serve).await
}

/// Accesses a block and takes it out of the stash.
///
/// # Errors
/// As [`access_at`].
pub(crate) async fn take_out<O: ExternalPositionOram>(
    oram: &O,
    block: BlockId,
    old: Option<Leaf>,
    take: impl FnOnce(&mut [u8]),
) -> Result<(), OramError<O::Error>> {
    access_at(oram, block, PositionUpdate { old, new: old.unwrap_or(Leaf(0)) }, take).await?;
    let (mut stash, _) = oram.stash();
    if let Some(handle) = stash.find(block) {
        stash.remove(handle);
    }
    Ok(())
}

/// Puts a block into the stash.
///
/// # Errors
/// [`OramError::StashFull`] at the hard bound; [`OramError::Contradiction`] if the block waits already, or the leaf is
/// none of the tree's. Nothing is changed then.
pub(crate) fn put_in<O: ExternalPositionOram>(
    oram: &O,
    block: BlockId,
    leaf: Leaf,
    payload: &[u8],
) -> Result<(), OramError<O::Error>> {
    check(oram, block, leaf)?;
    let (mut stash, max) = oram.stash();
    let held = stash.len();
    if held >= max {
        return Err(OramError::StashFull { held, max });
    }
    if stash.find(block).is_some() {
        return Err(OramError::Contradiction("a block is put in that is there"));
    }
    stash.insert_with(block, leaf, payload);
    Ok(())
}

/// Lets `serve` read and change the payload of a block, if it is in the stash. It keeps its leaf. Tells whether it was.
///
/// # Errors
/// [`OramError::Poisoned`].
pub(crate) fn serve_waiting<O: ExternalPositionOram>(
    oram: &O,
    block: BlockId,
    serve: impl FnOnce(&mut [u8]),
) -> Result<bool, OramError<O::Error>> {
    oram.poison_flag().check()?;
    let (mut stash, _) = oram.stash();
    let found = stash.find(block);
    if let Some(handle) = found {
        serve(stash.payload_mut(handle));
    }
    Ok(found.is_some())
}

/// Takes a block out of the stash, if it is there. Returns the leaf that it keeps.
///
/// # Errors
/// [`OramError::Poisoned`].
pub(crate) fn take_waiting<O: ExternalPositionOram>(
    oram: &O,
    block: BlockId,
    take: impl FnOnce(&mut [u8]),
) -> Result<Option<Leaf>, OramError<O::Error>> {
    oram.poison_flag().check()?;
    let (mut stash, _) = oram.stash();
    let Some(handle) = stash.find(block) else { return Ok(None) };
    let leaf = stash.leaf(handle);
    take(stash.payload_mut(handle));
    stash.remove(handle);
    Ok(Some(leaf))
}

/// The blocks of the stash, with their leaves.
pub(crate) fn waiting<O: ExternalPositionOram>(oram: &O) -> Vec<(BlockId, Leaf)> {
    let (stash, _) = oram.stash();
    stash.iter().map(|at| (stash.block(at), stash.leaf(at))).collect()
}

fn check<O: ExternalPositionOram>(oram: &O, block: BlockId, leaf: Leaf) -> Result<(), OramError<O::Error>> {
    let capacity = oram.capacity();
    if block.0 >= capacity {
        return Err(OramError::OutOfRange { block, capacity });
    }
    if leaf.0 >= oram.leaves() {
        return Err(OramError::Contradiction("a position lies beyond the tree"));
    }
    Ok(())
}
