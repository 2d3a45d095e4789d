//! The checks that a batch passes before anything is touched, and the look-ups that it becomes.

use crate::concurrency::poison::{PoisonFlag, PoisonOnDrop};
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::position_map::Lookup;
use crate::stash::{Handle, Stash};
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Leaf};
use alloc::vec::Vec;
use core::error::Error;

/// Refuses a batch that is too long, names a block beyond the capacity, or brings a buffer of another length than a
/// block's. Every scheme checks this first. Returns whether the batch has any access.
///
/// # Errors
/// [`OramError::BatchTooLarge`], [`OramError::OutOfRange`], [`OramError::WrongLength`].
pub(crate) fn check_batch<E: Error + 'static>(
    batch: &[Access<'_>],
    Bounds { capacity, block_bytes, max_batch }: Bounds,
) -> Result<bool, OramError<E>> {
    if batch.len() > max_batch {
        return Err(OramError::BatchTooLarge { len: batch.len(), max: max_batch });
    }
    for access in batch {
        let (block, len) = match access {
            Access::Read(block, into) => (*block, into.len()),
            Access::Write(block, from) => (*block, from.len()),
            Access::Dummy => continue,
        };
        if block.0 >= capacity {
            return Err(OramError::OutOfRange { block, capacity });
        }
        if len != block_bytes {
            return Err(OramError::WrongLength { len, block_bytes });
        }
    }
    Ok(!batch.is_empty())
}

/// Begins a batch that has the lock of the scheme, unless the state is poisoned or a step must come first.
///
/// # Errors
/// [`OramError::Poisoned`], [`OramError::Backlogged`].
pub(crate) fn begin<'a, O: Oram>(
    oram: &O,
    poison_flag: &'a PoisonFlag,
) -> Result<PoisonOnDrop<'a>, OramError<O::Error>> {
    poison_flag.check()?;
    if oram.must_step() { Err(OramError::Backlogged) } else { Ok(poison_flag.begin()) }
}

/// Refuses a batch that could bring this many blocks more into a stash that holds some already.
///
/// # Errors
/// [`OramError::StashFull`].
pub(crate) fn check_room<E: Error + 'static>(
    held: usize,
    more: usize,
    max: usize,
) -> Result<(), OramError<E>> {
    if held + more > max { Err(OramError::StashFull { held, max }) } else { Ok(()) }
}

/// Turns the blocks that a batch requests into look-ups, each with a new leaf, dummies too. A second request for a
/// block becomes a dummy look-up: it is served from what the first one brings.
pub(crate) fn look_up(
    blocks: impl Iterator<Item = Option<BlockId>>,
    lookups: &mut Vec<Lookup>,
    mut new_leaf: impl FnMut() -> Leaf,
) {
    lookups.clear();
    for requested in blocks {
        let block = requested.filter(|block| lookups.iter().all(|before| before.block != Some(*block)));
        lookups.push(Lookup { block, new: new_leaf(), old: None });
    }
}

/// Replaces the path that was drawn for each look-up with the path of its block, if it has one.
///
/// # Errors
/// [`OramError::Contradiction`].
pub(crate) fn find_paths<E: Error + 'static>(
    paths: &mut [Leaf],
    lookups: &[Lookup],
    tree: &Geometry,
) -> Result<(), OramError<E>> {
    for (path, lookup) in paths.iter_mut().zip(lookups) {
        *path = lookup.old.unwrap_or(*path);
        if path.0 >= tree.leaves() {
            return Err(OramError::Contradiction("a position lies beyond the tree"));
        }
    }
    Ok(())
}

/// Returns the block of a look-up in the stash, with its new leaf from now on. A block that was never mapped begins as
/// zeros; a block that the batch requested earlier has its leaf already.
///
/// # Errors
/// [`OramError::Contradiction`].
pub(crate) fn claim<E: Error + 'static>(
    stash: &mut Stash,
    block: BlockId,
    lookup: &Lookup,
) -> Result<Handle, OramError<E>> {
    match (stash.find(block), lookup.block) {
        (Some(handle), Some(_)) if lookup.old == Some(stash.leaf(handle)) => {
            stash.remap(handle, lookup.new);
            Ok(handle)
        }
        (None, Some(_)) if lookup.old.is_none() => Ok(stash.insert(block, lookup.new)),
        (Some(handle), None) => Ok(handle),
        _ => Err(OramError::Contradiction("a block is not where the position map has it")),
    }
}

/// Serves an access from a block of the stash: a read copies its payload, a write replaces it.
pub(crate) fn serve(access: &mut Access<'_>, stash: &mut Stash, handle: Handle) {
    match access {
        Access::Read(_, into) => stash.read(handle, into),
        Access::Write(_, from) => stash.payload_mut(handle).copy_from_slice(from),
        Access::Dummy => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_request_for_a_block_becomes_a_dummy_look_up() {
        let (mut lookups, mut leaves) = (Vec::new(), (0..).map(Leaf));
        let requested = [Some(BlockId(3)), None, Some(BlockId(3)), Some(BlockId(4))];
        look_up(requested.into_iter(), &mut lookups, || leaves.next().unwrap());
        let blocks: Vec<Option<BlockId>> = lookups.iter().map(|lookup| lookup.block).collect();
        assert_eq!(blocks, [Some(BlockId(3)), None, None, Some(BlockId(4))]);
        assert!(lookups.iter().map(|lookup| lookup.new.0).eq(0..4), "each with a leaf of its own");
    }
}
