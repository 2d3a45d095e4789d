//! The first contents of a Ring ORAM.

use super::slots::Slots;
use crate::memory_side::TreeParts;
use lethe_core::schemes::ring::{FilledRing, RingFilling, RingParameters};
use lethe_core::words::{BlockId, Leaf, Level};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// Draws a tree: all buckets were written once, and each block is as deep as there is room.
pub(super) fn draw(parameters: &RingParameters, is_full: bool, seed: u64) -> TreeParts {
    let (top, leaf_level) = (parameters.top.0, parameters.leaf_level.0);
    let mut sizes = vec![parameters.inner.slots; (leaf_level - top) as usize];
    sizes.push(parameters.leaf.slots);
    let mut slots = Slots::new(Level(top), &sizes);
    let mut filling = RingFilling::draw(parameters, |_| is_full, ChaCha8Rng::seed_from_u64(!seed));
    let mut bucket_slots = Vec::new();
    for (nth, (level, bucket)) in (0u64..).zip(filling.buckets()) {
        bucket_slots.clear();
        bucket_slots.resize(slots.size(level) as usize, None);
        for (slot, block, leaf) in filling.place(level, bucket) {
            bucket_slots[slot.index as usize] = Some((block, leaf));
        }
        let index = nth + (1 << top) - (1 << level.0);
        slots.replace(level.0, index, bucket_slots.iter().copied());
    }
    let FilledRing { tables, rest, stash } = filling.finish();
    let leaf = |block: BlockId| Some(Leaf(u64::from(tables[0][block.0 as usize].checked_sub(1)?)));
    let trusted = stash.into_iter().filter_map(|block| Some((block, leaf(block)?))).collect();
    let ring = Some(FilledRing { tables, rest, stash: Vec::new() });
    TreeParts { slots, positions: Vec::new(), trusted, ring }
}
