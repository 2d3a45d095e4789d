//! Draws of leaves and slots. The number of random words that a draw takes is part of the format, because a recovery
//! runs a journal again with the same seed.

use crate::tree::geometry::Geometry;
use crate::types::Leaf;
use rand_core::RngCore;

/// A uniform leaf, from 32 bits. A tree has a power of two of leaves: any bits are uniform.
pub(crate) fn leaf(random: &mut impl RngCore, tree: &Geometry) -> Leaf {
    Leaf(u64::from(random.next_u32()) & (tree.leaves() - 1))
}

/// A uniform leaf, from 64 bits.
pub(crate) fn leaf_of_64_bits(random: &mut impl RngCore, tree: &Geometry) -> Leaf {
    Leaf(random.next_u64() & (tree.leaves() - 1))
}

/// Uniform below a power of two, from 64 bits.
pub(crate) fn below_power_of_two(random: &mut impl RngCore, bound: u64) -> u64 {
    random.next_u64() & (bound - 1)
}

/// Uniform in `0..bound`, from 64 bits, except for a bias below 2^-32 if the bound is below 2^32.
pub(crate) fn below(random: &mut impl RngCore, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}
