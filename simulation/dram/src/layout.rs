//! Layouts of a tree of buckets: which blocks hold a bucket.

use crate::error::DramError;
use crate::geometry::Geometry;
use crate::units::Block;

/// The deepest tree.
const MAX_LEVELS: usize = 40;

/// A layout of a binary tree of buckets. Level 0 is the root; the level of a bucket determines its number of slots,
/// of one block each. A level of no slots is stored elsewhere.
pub trait Layout {
    /// The slots of a bucket, by level.
    fn slots(&self) -> &[u32];

    /// The first block of a bucket: the one at `index`, from the left, of a level. Its other blocks follow.
    ///
    /// A bucket that the tree does not have, or of a level of no slots, has no block: the answer means nothing.
    fn bucket(&self, level: usize, index: u64) -> Block;

    /// The blocks that the layout needs, from block 0.
    fn blocks(&self) -> u64;

    /// Replaces the content of `path` by the blocks on the path to a leaf (from 0, from the left), from the root.
    fn path(&self, leaf: u64, path: &mut Vec<Block>) {
        path.clear();
        let slots = self.slots();
        for (level, slots) in slots.iter().enumerate().filter(|(_, slots)| **slots > 0) {
            let first = self.bucket(level, leaf >> (self.slots().len() - 1 - level));
            path.extend((0..u64::from(*slots)).map(|slot| Block(first.0 + slot)));
        }
    }
}

/// The layout by level and then from left to right.
#[derive(Clone, Debug)]
pub struct PlainLayout {
    slots: Vec<u32>,
    /// The first block of each level.
    first: Vec<u64>,
    blocks: u64,
}

/// The layout by subtrees (Ren et al., ISCA 2013): a path touches few rows of the memory.
///
/// The levels are divided, from one of them downward, into groups of equal height, and each group into its subtrees.
/// The blocks of a subtree are contiguous, within one super-row if [`Specification::with_super_rows`] is the mapping.
/// A small subtree takes the next power of two of blocks, so that a super-row holds several of those.
///
/// [`Specification::with_super_rows`]: crate::Specification::with_super_rows
#[derive(Clone, Debug)]
pub struct SubtreeLayout {
    slots: Vec<u32>,
    levels: Vec<Level>,
    blocks: u64,
}

/// A level's part in the subtrees of its group.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// The first block of the group.
    group: u64,
    /// The logarithm of the blocks that a subtree takes.
    subtree_bits: u32,
    /// The level's depth below the subtrees' roots.
    depth: u32,
    /// The blocks of a subtree that precede those of this level.
    before: u64,
}

fn check(slots: &[u32]) -> Result<(), DramError> {
    if slots.is_empty() || slots.len() > MAX_LEVELS {
        let levels = slots.len();
        return Err(DramError::Layout(format!("it has {levels} levels: 1 to {MAX_LEVELS} are possible")));
    }
    if let Some(max) = slots.iter().max().filter(|max| **max > 1 << 16) {
        return Err(DramError::Layout(format!("a bucket has {max} slots: at most {}", 1 << 16)));
    }
    Ok(())
}

fn check_room(needed: u64, geometry: &Geometry) -> Result<(), DramError> {
    let room = geometry.blocks();
    if needed > room {
        return Err(DramError::Layout(format!("it needs {needed} blocks, and the memory has {room}")));
    }
    Ok(())
}

impl PlainLayout {
    /// Lays out a tree with the given slots of a bucket by level.
    ///
    /// # Errors
    /// The tree has no levels or too many, or does not fit into the memory.
    pub fn new(slots: &[u32], geometry: &Geometry) -> Result<Self, DramError> {
        check(slots)?;
        let mut blocks = 0;
        let first = slots.iter().enumerate().map(|(level, slots)| {
            let first = blocks;
            blocks += u64::from(*slots) << level;
            first
        });
        let first = first.collect();
        check_room(blocks, geometry)?;
        Ok(PlainLayout { slots: slots.to_vec(), first, blocks })
    }
}

impl Layout for PlainLayout {
    fn slots(&self) -> &[u32] {
        &self.slots
    }

    fn bucket(&self, level: usize, index: u64) -> Block {
        Block(self.first[level] + index * u64::from(self.slots[level]))
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }
}

impl SubtreeLayout {
    /// Lays out a tree with the given slots of a bucket by level, in subtrees of at most `height` levels. The first
    /// group begins at level `top`; the levels above it have no slots.
    ///
    /// # Errors
    /// The tree has no levels or too many, or a level above `top` has slots. Or a subtree is larger than a super-row,
    /// or the subtrees do not fit into the memory.
    pub fn new(slots: &[u32], top: usize, height: usize, geometry: &Geometry) -> Result<Self, DramError> {
        check(slots)?;
        if height == 0 || top >= slots.len() {
            let why = format!("subtrees of {height} levels from level {top} of {} levels", slots.len());
            return Err(DramError::Layout(why));
        }
        if slots[..top].iter().any(|slots| *slots > 0) {
            return Err(DramError::Layout(format!(
                "a level above {top}, where the subtrees begin, has slots"
            )));
        }
        let mut levels = vec![Level { group: 0, subtree_bits: 0, depth: 0, before: 0 }; top];
        let (mut group, mut end) = (0, 0);
        for (nth, of_group) in slots[top..].chunks(height).enumerate() {
            let root = top + nth * height;
            let first = levels.len();
            let mut blocks = 0;
            for (depth, slots) in of_group.iter().enumerate() {
                levels.push(Level { group, subtree_bits: 0, depth: depth as u32, before: blocks });
                blocks = u64::from(*slots)
                    .checked_shl(depth as u32)
                    .and_then(|more| more.checked_add(blocks))
                    .ok_or_else(|| DramError::Layout("a subtree is too large to be counted".into()))?;
            }
            if blocks == 0 {
                continue;
            }
            let super_row = geometry.super_row_blocks();
            if blocks > super_row {
                return Err(DramError::Layout(format!(
                    "a subtree of {} levels takes {blocks} blocks, and a super-row has {super_row}",
                    of_group.len()
                )));
            }
            let taken = blocks.next_power_of_two();
            levels[first..].iter_mut().for_each(|level| level.subtree_bits = taken.ilog2());
            end = group + (taken << root);
            // Groups begin at a super-row: no subtree may straddle two. One is skipped, for otherwise the subtrees of
            // a path in two groups could always be in different rows of one bank.
            group = end.next_multiple_of(super_row) + super_row;
        }
        check_room(end, geometry)?;
        Ok(SubtreeLayout { slots: slots.to_vec(), levels, blocks: end })
    }
}

impl Layout for SubtreeLayout {
    fn slots(&self) -> &[u32] {
        &self.slots
    }

    fn bucket(&self, level: usize, index: u64) -> Block {
        let Level { group, subtree_bits, depth, before } = self.levels[level];
        let (subtree, inner) = (index >> depth, index & ((1 << depth) - 1));
        Block(group + (subtree << subtree_bits) + before + inner * u64::from(self.slots[level]))
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Mapping;
    use crate::specification::Specification;
    use std::collections::BTreeSet;

    /// Four slots on each level from `top` on.
    fn slots(levels: usize, top: usize) -> Vec<u32> {
        (0..levels).map(|level| if level < top { 0 } else { 4 }).collect()
    }

    fn no_block_is_shared(layout: &impl Layout) {
        let mut seen = BTreeSet::new();
        for (level, slots) in layout.slots().iter().enumerate() {
            for index in 0..1 << level {
                let first = layout.bucket(level, index);
                for slot in 0..u64::from(*slots) {
                    assert!(first.0 + slot < layout.blocks());
                    assert!(seen.insert(first.0 + slot), "level {level}, bucket {index}, slot {slot}");
                }
            }
        }
    }

    #[test]
    fn no_two_slots_of_a_tree_share_a_block() {
        let geometry = Specification::usimm().geometry;
        let uneven = [0, 0, 3, 1, 4, 0, 2, 5, 4, 4];
        for slots in [&uneven[..], &slots(10, 0), &slots(10, 4)] {
            no_block_is_shared(&PlainLayout::new(slots, &geometry).unwrap());
            for height in 1..8 {
                no_block_is_shared(&SubtreeLayout::new(slots, 0, height, &geometry).unwrap());
            }
        }
        no_block_is_shared(&SubtreeLayout::new(&uneven, 2, 3, &geometry).unwrap());
    }

    #[test]
    fn a_path_has_each_level_s_slots_and_its_neighbour_shares_all_but_the_leaf() {
        let geometry = Specification::usimm().geometry;
        let layout = SubtreeLayout::new(&slots(25, 10), 0, 7, &geometry).unwrap();
        let (mut path, mut neighbour) = (Vec::new(), Vec::new());
        layout.path(0x54_3210, &mut path);
        layout.path(0x54_3211, &mut neighbour);
        assert_eq!(path.len(), 60);
        assert_eq!(path[..56], neighbour[..56]);
        assert!(path[56..].iter().all(|block| !neighbour.contains(block)));
    }

    #[test]
    fn a_path_in_subtrees_touches_one_row_a_channel_and_subtree() {
        let specification = Specification::usimm().with_super_rows();
        let mapping = Mapping::new(&specification.geometry);
        // Subtrees from the root and from level 10: levels 10-13, 14-20, 21-24; and 10-16, 17-23, 24.
        for top in [0, 10] {
            let layout = SubtreeLayout::new(&slots(25, 10), top, 7, &specification.geometry).unwrap();
            let mut path = Vec::new();
            for leaf in [0, 1, 0xff_ffff, 0x5a_5a5a] {
                layout.path(leaf, &mut path);
                let places: Vec<_> = path.iter().map(|block| mapping.place(*block)).collect();
                let rows: BTreeSet<_> =
                    places.iter().map(|at| (at.channel, at.rank, at.bank, at.row)).collect();
                assert_eq!(rows.len(), 3 * 4);
                for channel in 0..4 {
                    assert_eq!(places.iter().filter(|at| at.channel == channel).count(), 15);
                }
            }
        }
    }

    #[test]
    fn no_two_groups_of_a_path_lie_in_one_bank_for_every_leaf() {
        let specification = Specification::usimm().with_super_rows();
        let mapping = Mapping::new(&specification.geometry);
        // Level 24 takes 4 blocks a subtree: both it and the group above are numbered by the same bits of the leaf.
        let layout = SubtreeLayout::new(&slots(25, 10), 10, 7, &specification.geometry).unwrap();
        let bank = |level, index| {
            let place = mapping.place(layout.bucket(level, index));
            (place.rank, place.bank)
        };
        assert!((0..1000).all(|leaf| bank(24, 2 * leaf * 8191) != bank(23, leaf * 8191)));
    }

    #[test]
    fn a_tree_that_cannot_be_laid_out_is_one_clear_error() {
        let geometry = Specification::usimm().geometry;
        let said = |result: Result<SubtreeLayout, DramError>| result.unwrap_err().to_string();
        assert!(said(SubtreeLayout::new(&[], 0, 7, &geometry)).contains("0 levels"));
        assert!(said(SubtreeLayout::new(&slots(41, 10), 0, 7, &geometry)).contains("41 levels"));
        assert!(said(SubtreeLayout::new(&[1 << 17], 0, 7, &geometry)).contains("131072 slots"));
        assert!(
            said(SubtreeLayout::new(&slots(30, 10), 0, 7, &geometry)).contains("the memory has 268435456")
        );
        assert!(said(SubtreeLayout::new(&slots(20, 0), 0, 8, &geometry)).contains("takes 1020 blocks"));
        assert!(said(SubtreeLayout::new(&slots(20, 4), 5, 7, &geometry)).contains("above 5"));
        assert!(said(SubtreeLayout::new(&slots(20, 0), 0, 0, &geometry)).contains("subtrees of 0 levels"));
        let plain = PlainLayout::new(&slots(30, 10), &geometry).unwrap_err().to_string();
        assert!(plain.contains("the memory has 268435456"));
    }
}
