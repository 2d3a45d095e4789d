//! The first contents of a Ring ORAM.

use super::slots::Slots;
use crate::main_oram::TreeParts;
use ameles_core::position_map::flat::Positions;
use ameles_core::schemes::ring::{FilledRing, RingFilling, RingParameters};
use ameles_core::types::{BlockId, Leaf, Level};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Draws a tree. Each block is as deep as there is room. Each bucket was read as often as accesses come on average
/// since its last eviction. The first eviction of the schedule is the next.
pub(super) fn draw(parameters: &RingParameters, is_full: bool, seed: u64) -> TreeParts {
    let (top, leaf_level) = (parameters.top.0, parameters.leaf_level.0);
    let mut sizes = vec![parameters.inner.slots; (leaf_level - top) as usize];
    sizes.push(parameters.leaf.slots);
    let mut slots = Slots::new(Level(top), &sizes);
    let mut filling = RingFilling::draw(parameters, |_| is_full, ChaCha8Rng::seed_from_u64(!seed));
    let (mut bucket_slots, mut random) = (Vec::new(), ChaCha8Rng::seed_from_u64(seed));
    for (nth, (level, bucket)) in (0u64..).zip(filling.buckets()) {
        bucket_slots.clear();
        bucket_slots.resize(slots.size(level) as usize, None);
        for (slot, block, leaf) in filling.place(level, bucket) {
            bucket_slots[slot.index as usize] = Some((block, leaf));
        }
        let index = nth + (1 << top) - (1 << level.0);
        if is_full {
            let mean = f64::from(parameters.eviction_rate) * since_eviction(level, index);
            filling.read_dummies(level, bucket, poisson(mean, &mut random) % parameters.reads);
        }
        slots.replace(level.0, index, bucket_slots.iter().copied());
    }
    let FilledRing { tables, rest, stash } = filling.finish();
    let leaf = |block: BlockId| Some(Leaf(u64::from(tables[0][block.0 as usize].checked_sub(1)?)));
    let trusted = stash.into_iter().filter_map(|block| Some((block, leaf(block)?))).collect();
    let ring = Some(FilledRing { tables, rest, stash: Vec::new() });
    TreeParts { slots, positions: Positions::new(0), trusted, ring }
}

/// The evictions since a bucket had its last one, as a share of the 2^l after which it has the next. Before the first
/// eviction of the schedule come those that would have been. The position of a bucket in this order is its index with
/// the bits in reverse.
fn since_eviction(level: Level, index: u64) -> f64 {
    if level.0 == 0 {
        return 1.0;
    }
    let turn = index.reverse_bits() >> (u64::BITS - level.0);
    1.0 - turn as f64 / libm::exp2(level.0.into())
}

/// A number of events with that mean.
fn poisson(mean: f64, random: &mut impl RngCore) -> u32 {
    let (mut events, mut product) = (0, 1.0);
    let min = libm::exp(-mean);
    loop {
        product *= (f64::from(random.next_u32()) + 0.5) / 4_294_967_296.0;
        if product <= min {
            return events;
        }
        events += 1;
    }
}
