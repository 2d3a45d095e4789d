//! Partitions with mistakes.

use crate::oram::{Access, Bounds, Oram, OramError};
use crate::partitions::{Partitions, SubOram};
use crate::types::BlockId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::RefCell;
use rand_core::RngCore;

/// Partitions that take from a fresh random partition when the requested block is in the cache. The block stays in the
/// cache as it is.
pub struct ReadsRandomPartition<P, R> {
    oram: Partitions<P, R>,
    /// The contents of every block that was requested.
    known: RefCell<BTreeMap<BlockId, Vec<u8>>>,
}

impl<P, R> ReadsRandomPartition<P, R> {
    /// Partitions that were never used, with that mistake.
    pub fn new(oram: Partitions<P, R>) -> Self {
        ReadsRandomPartition { oram, known: RefCell::default() }
    }
}

wraps!([P: SubOram, R: RngCore] ReadsRandomPartition<P, R>, P::Error, oram, mutant, batch => {
    let blocks: Vec<Option<BlockId>> = batch.iter().map(Access::block).collect();
    let random_partition = |block: &BlockId| mutant.oram.is_cached(*block);
    let mut scratch: Vec<Vec<u8>> = blocks.iter().map(|_| alloc::vec![0; mutant.block_bytes()]).collect();
    let taken: Vec<Option<BlockId>> =
        blocks.iter().map(|block| block.filter(|block| !random_partition(block))).collect();
    let look = |(block, into)| match block {
        Some(block) => Access::Read(block, into),
        None => Access::Dummy,
    };
    let into = scratch.iter_mut().map(Vec::as_mut_slice);
    let mut requested: Vec<Access<'_>> = taken.iter().copied().zip(into).map(look).collect();
    mutant.oram.access(&mut requested).await?;

    let known = &mut *mutant.known.borrow_mut();
    for (access, block) in batch.iter_mut().zip(blocks) {
        if let Some(block) = block {
            let zeros = || alloc::vec![0; mutant.oram.block_bytes()];
            access.serve(known.entry(block).or_insert_with(zeros));
        }
    }
    Ok(())
});
