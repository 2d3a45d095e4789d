//! The choice of the stash blocks that go into each bucket of a path: as deep as they may, deepest bucket first.

use super::geometry::Geometry;
use crate::stash::{Handle, Stash};
use crate::types::{BlockId, Leaf, Level};
use alloc::vec::Vec;

/// The order in which blocks find their places. As many go back with either, and each path is as long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FillOrder {
    /// Bucket by bucket, the deepest first (Path ORAM, Figure 1, lines 10 to 15).
    #[default]
    DeepestFirst,
    /// Blocks are placed one by one, the one that has waited longest first, each as deep as there is room. This is
    /// PushToLeaf of Tiny ORAM (FCCM 2015, Algorithm 1), which takes a cycle for each block in hardware.
    PushToLeaf,
}

/// The greedy placement along one path, kept so that its buffers are reused.
#[derive(Debug, Default)]
pub struct Placement {
    order: FillOrder,
    /// The blocks of the subtree, and the depths that they may go to.
    scanned: Vec<(usize, Handle)>,
    /// For each depth, the blocks that may not go so deep.
    shallower: Vec<usize>,
    /// The blocks of the subtree, those that may go deepest last.
    by_depth: Vec<Handle>,
    chosen: Vec<Vec<Handle>>,
    top: u32,
}

impl Placement {
    /// Fills in another order from now on.
    pub fn set_order(&mut self, order: FillOrder) {
        self.order = order;
    }

    /// Chooses, for every level of the path to `leaf`, at most `room(level)` blocks of the stash. Nothing moves yet.
    ///
    /// Only the stash blocks of the leaf's subtree are looked at: no other block can be in an untrusted bucket of the
    /// path. A block that `may_go` refuses stays where it is, for the whole path. An access in flight needs it, or the
    /// level has no room for it. It is asked once for each block that would be chosen.
    pub fn plan(
        &mut self,
        stash: &Stash,
        tree: &Geometry,
        leaf: Leaf,
        room: impl Fn(Level) -> usize,
        may_go: impl FnMut(Level, BlockId) -> bool,
    ) {
        let depths = (tree.leaf_level().0 + 1 - tree.top().0) as usize;
        self.top = tree.top().0;
        self.chosen.resize_with(depths, Vec::new);
        self.chosen.iter_mut().for_each(Vec::clear);
        self.scanned.clear();
        self.scanned.extend(stash.subtree(tree.subtree(leaf)).map(|handle| {
            let depth = tree.deepest_common(stash.leaf(handle), leaf);
            ((depth.0 - self.top) as usize, handle)
        }));
        match self.order {
            FillOrder::DeepestFirst => {
                self.sort_by_depth(depths);
                self.fill_buckets((stash, tree), room, may_go);
            }
            FillOrder::PushToLeaf => self.push_to_leaf(stash, room, may_go),
        }
    }

    /// Sorts the blocks by the depths that they may go to. Among equals the order of the subtree's list stays.
    fn sort_by_depth(&mut self, depths: usize) {
        let Placement { scanned, shallower, by_depth, .. } = self;
        shallower.clear();
        shallower.resize(depths, 0);
        by_depth.clear();
        for (depth, handle) in &*scanned {
            shallower[*depth] += 1;
            by_depth.push(*handle);
        }
        let mut before = 0;
        for blocks in &mut *shallower {
            before += core::mem::replace(blocks, before);
        }
        for (depth, handle) in &*scanned {
            by_depth[shallower[*depth]] = *handle;
            shallower[*depth] += 1;
        }
        // Each is where the next depth begins now.
        shallower.rotate_right(1);
        shallower[0] = 0;
    }

    fn fill_buckets(
        &mut self,
        (stash, tree): (&Stash, &Geometry),
        room: impl Fn(Level) -> usize,
        mut may_go: impl FnMut(Level, BlockId) -> bool,
    ) {
        let mut waiting = &self.by_depth[..];
        for level in tree.levels().rev() {
            let here = (level.0 - self.top) as usize;
            let mut left = room(level);
            // Blocks that found no room at their deepest level try the next one up.
            while left > 0
                && waiting.len() > self.shallower[here]
                && let Some((handle, rest)) = waiting.split_last()
            {
                waiting = rest;
                if may_go(level, stash.block(*handle)) {
                    self.chosen[here].push(*handle);
                    left -= 1;
                }
            }
        }
    }

    /// Algorithm 1. The list of a subtree has the block that came last first.
    fn push_to_leaf(
        &mut self,
        stash: &Stash,
        room: impl Fn(Level) -> usize,
        mut may_go: impl FnMut(Level, BlockId) -> bool,
    ) {
        for (deepest, handle) in self.scanned.iter().rev().copied() {
            let level = |depth: usize| Level(self.top + depth as u32);
            let has_room = |depth: &usize| self.chosen[*depth].len() < room(level(*depth));
            let found = (0..=deepest).rev().find(has_room);
            if let Some(depth) = found.filter(|depth| may_go(level(*depth), stash.block(handle))) {
                self.chosen[depth].push(handle);
            }
        }
    }

    /// The blocks chosen for a level.
    pub fn chosen(&self, level: Level) -> &[Handle] {
        &self.chosen[(level.0 - self.top) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Bucket;
    use proptest::prelude::*;

    const LEAF_LEVEL: Level = Level(5);

    fn plan(order: FillOrder, leaves: &[u64], path: Leaf, room: usize) -> Vec<(Level, BlockId)> {
        let tree = Geometry::of_whole_buckets(LEAF_LEVEL, Level(0), (1, 0), Bucket(0));
        let mut stash = Stash::new(0, LEAF_LEVEL, Level(0));
        for (block, leaf) in (0..).zip(leaves) {
            stash.insert(BlockId(block), Leaf(*leaf));
        }
        let mut placement = Placement::default();
        placement.set_order(order);
        placement.plan(&stash, &tree, path, |_| room, |_, _| true);
        let of_level = |level| placement.chosen(level).iter().map(move |handle| (level, *handle));
        tree.levels().flat_map(of_level).map(|(level, handle)| (level, stash.block(handle))).collect()
    }

    #[test]
    fn push_to_leaf_lets_the_block_that_waited_longest_choose_first() {
        let placed = plan(FillOrder::PushToLeaf, &[0, 1, 0, 31], Leaf(0), 1);
        let expected = [(0, 3), (3, 2), (4, 1), (5, 0)].map(|(level, block)| (Level(level), BlockId(block)));
        assert_eq!(placed, expected);
    }

    proptest! {
        #[test]
        fn both_orders_send_as_many_blocks_back_and_none_off_its_path(
            leaves in prop::collection::vec(0u64..32, 0..40),
            path in 0u64..32,
            room in 1usize..4,
        ) {
            let tree = Geometry::of_whole_buckets(LEAF_LEVEL, Level(0), (1, 0), Bucket(0));
            let [one, other] = [FillOrder::DeepestFirst, FillOrder::PushToLeaf]
                .map(|order| plan(order, &leaves, Leaf(path), room));
            prop_assert_eq!(one.len(), other.len());
            for (level, block) in other {
                let leaf = Leaf(leaves[block.0 as usize]);
                prop_assert!(level <= tree.deepest_common(leaf, Leaf(path)));
            }
        }
    }
}
