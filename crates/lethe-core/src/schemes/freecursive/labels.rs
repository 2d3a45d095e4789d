//! The positions of all blocks of the address space, each where it is kept.

use super::address_space::{AddressSpace, Keeper};
use super::parameters::PositionsKept;
use crate::look_aside::LookAside;
use crate::position_map::flat::Positions;
use crate::words::{BlockId, Leaf};
use alloc::vec::Vec;

/// Bytes of a position in a PosMap block: leaf + 1, or 0 for a block that was never mapped.
const LABEL_BYTES: usize = 4;

/// The table on the trusted side, and the way to the positions in PosMap blocks.
pub(super) enum Labels {
    /// The positions of the last level; the others are in the payloads of PosMap blocks.
    InBlocks(Positions),
    /// The positions of all blocks.
    Aside(Positions),
}

impl Labels {
    /// Positions of blocks none of which was ever mapped.
    pub(super) fn new(kept: PositionsKept, space: &AddressSpace) -> Self {
        match kept {
            PositionsKept::InBlocks => Labels::InBlocks(Positions::new(space.trusted())),
            PositionsKept::Aside => Labels::Aside(Positions::new(space.blocks())),
        }
    }

    /// These positions of all blocks.
    pub(super) fn aside(positions: Positions) -> Self {
        Labels::Aside(positions)
    }

    /// The words of the table.
    pub(super) fn into_words(self) -> Vec<u32> {
        let (Labels::InBlocks(table) | Labels::Aside(table)) = self;
        table.into_words()
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        let (Labels::InBlocks(table) | Labels::Aside(table)) = self;
        size_of_val(table.words())
    }

    /// The position of a block whose PosMap block is in the buffer.
    pub(super) fn get(&self, space: &AddressSpace, buffer: &LookAside, block: BlockId) -> Option<Leaf> {
        match (self, space.keeper(block)) {
            (Labels::Aside(table), _) => table.get(block),
            (Labels::InBlocks(table), Keeper::Trusted(entry)) => table.get(BlockId(entry)),
            (Labels::InBlocks(_), Keeper::Block(above, entry)) => {
                let place = buffer.place(above).expect("the PosMap block was brought in");
                let label = &buffer.payload(place)[entry as usize * LABEL_BYTES..][..LABEL_BYTES];
                let word = label.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                word.checked_sub(1).map(Leaf)
            }
        }
    }

    /// Gives a block, whose PosMap block is in the buffer, a position. Returns the one that it had.
    pub(super) fn replace(
        &mut self,
        space: &AddressSpace,
        buffer: &mut LookAside,
        block: BlockId,
        new: Leaf,
    ) -> Option<Leaf> {
        let old = self.get(space, buffer, block);
        match (self, space.keeper(block)) {
            (Labels::Aside(table), _) => {
                table.replace(block, new);
            }
            (Labels::InBlocks(table), Keeper::Trusted(entry)) => {
                table.replace(BlockId(entry), new);
            }
            (Labels::InBlocks(_), Keeper::Block(above, entry)) => {
                let place = buffer.place(above).expect("the PosMap block was brought in");
                let label = &mut buffer.payload_mut(place)[entry as usize * LABEL_BYTES..][..LABEL_BYTES];
                label.copy_from_slice(&(new.0 as u32 + 1).to_le_bytes());
            }
        }
        old
    }
}
