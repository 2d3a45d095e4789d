//! The paths of evictions in reverse lexicographic order, computed a second time.

/// The leaf of an eviction in a tree of this many levels of leaves: the bits of its number, mirrored.
pub fn reverse_bits(leaf_level: u32, eviction: u64) -> u64 {
    (0..leaf_level).fold(0, |leaf, bit| leaf << 1 | (eviction >> bit & 1))
}
