//! The eviction of RAW ORAM along one path, which was read as a whole: a dummy access of Path ORAM.

use super::trees::Trees;
use crate::oram::OramError;
use crate::stash::Stash;
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::tree::placement::Placement;
use crate::types::Leaf;
use core::error::Error;

/// The path of an eviction.
pub(super) struct Path<'a> {
    pub(super) leaf: Leaf,
    pub(super) trees: &'a Trees,
    pub(super) capacity: u64,
}

impl Path<'_> {
    /// Takes all blocks into the stash that the headers name.
    pub(super) fn add_to_stash<E: Error + 'static>(
        &self,
        bytes: &[u8],
        stash: &mut Stash,
    ) -> Result<(), OramError<E>> {
        let (header_bytes, block_bytes, body_bytes) = self.trees.bytes();
        let tree = &self.trees.headers;
        for (at, read) in tree.path(self.leaf).zip(bytes.chunks_exact(header_bytes + body_bytes)) {
            let (header, body) = read.split_at(header_bytes);
            for (place, entry) in header.chunks_exact(HEADER_BYTES).enumerate() {
                let Some((block, leaf)) = block_header::read(entry) else { continue };
                tree.check_block((block, leaf), self.capacity, at)?;
                if stash.find(block).is_some() {
                    return Err(OramError::Contradiction("a block exists twice"));
                }
                stash.insert_with(block, leaf, &body[place * block_bytes..][..block_bytes]);
            }
        }
        Ok(())
    }

    /// Fills the buckets from the stash, each block as deep as it may.
    pub(super) fn fill(&self, bytes: &mut [u8], stash: &mut Stash, placement: &mut Placement) {
        let (header_bytes, block_bytes, body_bytes) = self.trees.bytes();
        let tree = &self.trees.headers;
        placement.plan(stash, tree, self.leaf, |level| tree.shape(level).blocks as usize, |_, _| true);
        bytes.fill(0);
        for (level, bucket) in tree.levels().zip(bytes.chunks_exact_mut(header_bytes + body_bytes)) {
            let (header, body) = bucket.split_at_mut(header_bytes);
            for (place, handle) in placement.chosen(level).iter().copied().enumerate() {
                let entry = &mut header[place * HEADER_BYTES..][..HEADER_BYTES];
                stash.serialize_split(handle, entry, &mut body[place * block_bytes..][..block_bytes]);
                stash.remove(handle);
            }
        }
    }
}
