//! The positions of all blocks of the address space, each where it is kept.

use super::address_space::{AddressSpace, PositionEntry};
use super::counters::{Groups, NEVER};
use super::leaves::LeafFunction;
use crate::position_map::external::PositionUpdate;
use crate::position_map::flat::Positions;
use crate::position_map::look_aside::LookAside;
use crate::types::{BlockId, Leaf};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The number of bytes of a position in a PosMap block: leaf + 1, or 0 for a block that was never mapped.
const LABEL_BYTES: usize = 4;

/// The table on the trusted side, and the way to the positions in PosMap blocks.
pub(super) enum Labels {
    /// The positions of the last level; the others are in the payloads of PosMap blocks.
    InBlocks(Positions),
    /// The positions of all blocks.
    Separate(Positions),
    /// The counters of the last level; the others are in the payloads of PosMap blocks.
    Counted(Box<Counted>),
}

/// Counters instead of positions.
pub(super) struct Counted {
    pub(super) groups: Groups,
    pub(super) leaves: LeafFunction,
    pub(super) table: Vec<u64>,
    /// The user's blocks that were taken out: no path leads to them.
    pub(super) taken_out: BTreeSet<BlockId>,
    /// Each counter that was given, with its block.
    #[cfg(test)]
    pub(super) assigned: Vec<(BlockId, u64)>,
}

/// A new position. Counters are [`NEVER`] where positions are kept, and before a block was mapped.
pub(super) struct NewPosition {
    pub(super) update: PositionUpdate,
    pub(super) old_counter: u64,
    pub(super) new_counter: u64,
}

impl Labels {
    /// The table, if it holds positions.
    pub(super) fn into_positions(self) -> Option<Positions> {
        match self {
            Labels::InBlocks(table) | Labels::Separate(table) => Some(table),
            Labels::Counted(_) => None,
        }
    }

    /// Returns the number of bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Labels::InBlocks(table) | Labels::Separate(table) => size_of_val(table.words()),
            Labels::Counted(counted) => {
                size_of_val(&counted.table[..]) + counted.taken_out.len() * size_of::<BlockId>()
            }
        }
    }

    /// Counters, if there are any.
    pub(super) fn counted(&self) -> Option<&Counted> {
        match self {
            Labels::Counted(counted) => Some(counted),
            Labels::InBlocks(_) | Labels::Separate(_) => None,
        }
    }

    /// Records that a block was taken out, or put in.
    pub(super) fn set_taken_out(&mut self, block: BlockId, is_out: bool) {
        if let Labels::Counted(counted) = self {
            if is_out {
                counted.taken_out.insert(block)
            } else {
                counted.taken_out.remove(&block)
            };
        }
    }

    /// The position of a block whose PosMap block is in the buffer.
    pub(super) fn get(&self, space: &AddressSpace, buffer: &LookAside, block: BlockId) -> Option<Leaf> {
        match self {
            Labels::Separate(table) => table.get(block),
            Labels::InBlocks(table) => match space.position_entry(block) {
                PositionEntry::Trusted(entry) => table.get(BlockId(entry)),
                PositionEntry::Block(above, entry) => {
                    let place = buffer.place(above).expect("the PosMap block was brought in");
                    read(&buffer.payload(place)[bytes_of(entry)])
                }
            },
            Labels::Counted(counted) => counted.leaf(block, counted.counter(space, buffer, block)),
        }
    }

    /// Gives a block, whose PosMap block is in the buffer, a new position: one that is drawn, if positions are kept.
    /// `None` if its counter must not continue before a straggler of its group has moved; in this case nothing is
    /// changed.
    pub(super) fn assign_position(
        &mut self,
        space: &AddressSpace,
        buffer: &mut LookAside,
        block: BlockId,
        draw: impl FnOnce() -> Leaf,
    ) -> Option<NewPosition> {
        if let Labels::Counted(counted) = self {
            return counted.assign_position(space, buffer, block);
        }
        let new = draw();
        let old = match self {
            Labels::Separate(table) => table.replace(block, new),
            Labels::InBlocks(table) => match space.position_entry(block) {
                PositionEntry::Trusted(entry) => table.replace(BlockId(entry), new),
                PositionEntry::Block(above, entry) => {
                    let place = buffer.place(above).expect("the PosMap block was brought in");
                    let label = &mut buffer.payload_mut(place)[bytes_of(entry)];
                    let old = read(label);
                    label.copy_from_slice(&(new.0 as u32 + 1).to_le_bytes());
                    old
                }
            },
            Labels::Counted(_) => None,
        };
        Some(NewPosition { update: PositionUpdate { old, new }, old_counter: NEVER, new_counter: NEVER })
    }
}

/// The bytes of a label in a PosMap block.
fn bytes_of(entry: u32) -> Range<usize> {
    let first = entry as usize * LABEL_BYTES;
    first..first + LABEL_BYTES
}

fn read(label: &[u8]) -> Option<Leaf> {
    let word = label.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    word.checked_sub(1).map(Leaf)
}

impl Counted {
    /// Counters of blocks none of which was ever mapped.
    pub(super) fn new(groups: Groups, leaves: LeafFunction, trusted: u64) -> Self {
        Counted {
            groups,
            leaves,
            table: vec![NEVER; trusted as usize],
            taken_out: BTreeSet::new(),
            #[cfg(test)]
            assigned: Vec::new(),
        }
    }

    /// The counter of a block whose PosMap block is in the buffer.
    pub(super) fn counter(&self, space: &AddressSpace, buffer: &LookAside, block: BlockId) -> u64 {
        match space.position_entry(block) {
            PositionEntry::Trusted(entry) => self.table[entry as usize],
            PositionEntry::Block(above, entry) => {
                let place = buffer.place(above).expect("the PosMap block was brought in");
                self.groups.counter(buffer.payload(place), entry)
            }
        }
    }

    fn leaf(&self, block: BlockId, counter: u64) -> Option<Leaf> {
        (counter != NEVER).then(|| self.leaves.leaf(block, counter))
    }

    fn assign_position(
        &mut self,
        space: &AddressSpace,
        buffer: &mut LookAside,
        block: BlockId,
    ) -> Option<NewPosition> {
        let old_counter = self.counter(space, buffer, block);
        let new_counter = match space.position_entry(block) {
            PositionEntry::Trusted(entry) => {
                self.table[entry as usize] += 1;
                self.table[entry as usize]
            }
            PositionEntry::Block(above, entry) => {
                let place = buffer.place(above).expect("the PosMap block was brought in");
                self.groups.advance(buffer.payload_mut(place), entry)?
            }
        };
        #[cfg(test)]
        self.assigned.push((block, new_counter));
        let (old, new) = (self.leaf(block, old_counter), self.leaves.leaf(block, new_counter));
        Some(NewPosition { update: PositionUpdate { old, new }, old_counter, new_counter })
    }
}
