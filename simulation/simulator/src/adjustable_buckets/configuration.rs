//! The options of AB-ORAM.

use crate::configuration_error::ConfigurationError;

/// The options of AB-ORAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdjustableConfiguration {
    /// L, the number of levels of the tree: 6 to 22.
    pub levels: u32,
    /// The number of levels on the trusted side.
    pub top_levels: u32,
    /// Z, the number of blocks of a bucket.
    pub blocks_per_bucket: u32,
    /// S, the number of reads of a bucket that has all slots, between two writes.
    pub reads: u32,
    /// A, the number of accesses for each eviction.
    pub eviction_rate: u32,
    /// The number of levels with smaller buckets, from the leaves up.
    pub small_levels: u32,
    /// The number of slots of a bucket there: more than Z, and at most Z + S.
    pub small_slots: u32,
    /// The maximum number of places that a bucket of these levels borrows beyond its own slots.
    pub more: u32,
    /// The number of places in the queue of a level; with 0 nothing is lent.
    pub queue: usize,
    /// The maximum of levels of a subtree that is contiguous in the memory; with 0 the layout is by level.
    pub subtree_levels: usize,
}

impl AdjustableConfiguration {
    /// The parameters of the authors' file `ring-oram.cfg`, for a tree of other height: Z = 5, S = 7, A = 5, two more
    /// slots for each bucket. Queues have a thousand places, as in `4channel.cfg`.
    pub fn of_authors(levels: u32, small_slots: u32) -> Self {
        AdjustableConfiguration {
            levels,
            top_levels: levels.saturating_sub(14),
            blocks_per_bucket: 5,
            reads: 7,
            eviction_rate: 5,
            small_levels: 4,
            small_slots,
            more: 2,
            queue: 1000,
            subtree_levels: 7,
        }
    }

    /// The slots of a bucket of a level.
    pub(super) fn slots(&self, level: u32) -> u32 {
        match level {
            _ if level < self.top_levels => 0,
            _ if level + self.small_levels >= self.levels => self.small_slots,
            _ => self.blocks_per_bucket + self.reads,
        }
    }

    /// Slots of the tree in memory.
    pub fn total_slots(&self) -> u64 {
        (0..self.levels).map(|level| u64::from(self.slots(level)) << level).sum()
    }

    /// Blocks of the user: as in the authors' simulator two for each bucket.
    pub fn blocks(&self) -> u64 {
        2 << self.levels
    }

    pub(super) fn check(&self) -> Result<(), ConfigurationError> {
        let (levels, top) = (self.levels, self.top_levels);
        if !(6..=22).contains(&levels) || top >= levels {
            return Err(ConfigurationError::Levels { levels, top });
        }
        let (blocks, max) = (self.blocks_per_bucket, self.blocks_per_bucket + self.reads);
        if self.reads == 0 || self.eviction_rate == 0 || self.small_slots <= blocks || self.small_slots > max
        {
            return Err(ConfigurationError::SmallSlots { slots: self.small_slots, blocks, max });
        }
        Ok(())
    }
}
