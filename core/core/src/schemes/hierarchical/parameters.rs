//! The parameters of a hierarchical ORAM, and the tables and lists that follow from them.

use super::load;
use crate::oram::Bounds;
use crate::range::{self, OutOfRange};
use crate::tree::block_header::HEADER_BYTES;
use crate::tree::layout::{Extent, Layout};
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of a hierarchical ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct HierarchicalParameters {
    /// N, the number of blocks that the user can address: 1 to 2^32.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// S, the number of slots of the buffer that is read whole, which are the accesses of an epoch: `max_batch` to
    /// 2^31.
    pub buffer: u32,
    /// The maximum number of blocks that are expected in a bucket of a full table: 1, as in the paper, to 2^16.
    pub load: u32,
    /// c, the number of blocks that are sorted at once: at least the slots of a bucket. The trusted side holds twice as
    /// many.
    pub run_blocks: u32,
    /// The maximum number of accesses in one batch: 1 to 2^16.
    pub max_batch: u32,
    /// True if a rebuild runs in parallel with the accesses of the next epoch, which have a buffer of their own.
    pub spread: bool,
}

/// A level: a hash table, and the same blocks in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelShape {
    /// The maximum number of blocks in the level.
    pub blocks: u64,
    /// The number of buckets in the level's table, a power of two.
    pub buckets: u64,
    /// m, the number of slots of each bucket.
    pub slots: u32,
    /// The numbers of the first buckets of its two tables: the one in use, and the one that is being built. Only the
    /// last level has two, and only if rebuilds are spread out.
    pub(super) tables: [u64; 2],
    /// The number of the bucket with its list's first block.
    pub(super) list: u64,
}

impl HierarchicalParameters {
    /// The paper's parameters for this many blocks. One block is expected in a bucket, and the smallest table is for as
    /// many blocks as a batch has accesses.
    pub fn for_capacity(capacity: u64, block_bytes: u32, run_blocks: u32, max_batch: u32) -> Self {
        let parameters = HierarchicalParameters {
            capacity,
            block_bytes,
            buffer: max_batch,
            load: 1,
            run_blocks,
            max_batch,
            spread: false,
        };
        let max = parameters.levels().iter().map(|level| level.slots).max();
        HierarchicalParameters { run_blocks: run_blocks.max(max.unwrap_or(1)), ..parameters }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`OutOfRange`] names the parameter, its value and its range.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        range::check_bounds(self.bounds(), 1 << 32, 1 << 16)?;
        range::check(&[
            ("buffer", self.buffer.into(), self.max_batch.into(), 1 << 31),
            ("load", self.load.into(), 1, 1 << 16),
        ])?;
        let slots = self.levels().iter().map(|level| level.slots).max().unwrap_or(1);
        range::check(&[("run_blocks", self.run_blocks.into(), slots.into(), 1 << 24)])
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// The levels, smallest first: the i-th is for S 2^(i-1) blocks, the last for all N.
    pub fn levels(&self) -> Vec<LevelShape> {
        let buffer = u64::from(self.buffer);
        let mut first = self.buffers() * buffer;
        let mut levels = Vec::new();
        loop {
            let comes_in = buffer << levels.len();
            let is_last = comes_in >= self.capacity;
            let blocks = if is_last { self.capacity } else { comes_in };
            let buckets = blocks.div_ceil(self.load.into()).next_power_of_two();
            let slots = load::slots_for(blocks, buckets);
            let tables = [first, if is_last && self.spread { first + buckets } else { first }];
            let list = tables[1] + buckets;
            levels.push(LevelShape { blocks, buckets, slots, tables, list });
            first = list + blocks;
            if is_last {
                return levels;
            }
        }
    }

    /// Buffers: one that is in use, and one whose blocks are on their way down if that is spread out.
    pub(super) fn buffers(&self) -> u64 {
        1 + u64::from(self.spread)
    }

    /// The number of the first bucket of the buffer of an epoch.
    pub(super) fn buffer_of(&self, epoch: u64) -> u64 {
        epoch % self.buffers() * u64::from(self.buffer)
    }

    /// The level that the n-th epoch is rebuilt into, counted from 1: that of the lowest bit of n, or the last.
    pub fn level_of_epoch(&self, epoch: u64) -> usize {
        (epoch.trailing_zeros() as usize).min(self.levels().len() - 1)
    }

    /// Returns the number of records from which a level is rebuilt: those of the buffer and of all smaller levels. For
    /// the last level, its own are included.
    pub fn incoming(&self, level: usize) -> u64 {
        let comes_in = u64::from(self.buffer) << level;
        let is_last = comes_in >= self.capacity;
        comes_in + if is_last { self.capacity } else { 0 }
    }

    /// Returns the number of bytes of a slot: a block and its header.
    pub(super) fn slot_bytes(&self) -> usize {
        HEADER_BYTES + self.block_bytes as usize
    }

    /// Runs of the area in which the largest level is sorted.
    pub(super) fn area_runs(&self) -> u64 {
        let run = u64::from(self.run_blocks);
        let records = |(nth, level): (usize, &LevelShape)| {
            (level.blocks + level.buckets * u64::from(level.slots)).max(self.incoming(nth))
        };
        self.levels().iter().enumerate().map(records).max().unwrap_or(0).div_ceil(run)
    }

    /// The number of the first bucket of the area in which levels are sorted.
    pub(super) fn area(&self) -> u64 {
        let last = self.levels().last().copied();
        last.map_or(0, |level| level.list + level.blocks)
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes. It has the buffers, the table and the list of
    /// each level, and the area in which a level is sorted. A bucket of a table is a bucket of the store. All but the
    /// tables are in buckets of one slot.
    pub fn layout(&self) -> Layout {
        let slot_bytes = self.slot_bytes() as u32;
        let extent = |buckets, slots| Extent { buckets, slots, slot_bytes };
        let mut extents = alloc::vec![extent(self.buffers() * u64::from(self.buffer), 1)];
        for level in self.levels() {
            extents.push(extent(level.list - level.tables[0], level.slots));
            extents.push(extent(level.blocks, 1));
        }
        extents.push(extent(self.area_runs() * u64::from(self.run_blocks), 1));
        Layout::new(extents)
    }
}
