//! Which path is evicted next.

use crate::words::{Leaf, Level};

/// The path of the `turn`-th eviction in reverse lexicographic order (Gentry et al. 2013; Ring ORAM, section 3.3):
/// the bits of the turn, mirrored. Successive paths share as few buckets as can be, and every bucket of level `l`
/// is visited exactly once in `2^l` turns.
pub fn reverse_lexicographic(turn: u64, leaf_level: Level) -> Leaf {
    if leaf_level.0 == 0 {
        return Leaf(0);
    }
    Leaf(turn.reverse_bits() >> (u64::BITS - leaf_level.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn it_mirrors_the_bits_of_the_turn() {
        let order: Vec<u64> = (0..8).map(|turn| reverse_lexicographic(turn, Level(3)).0).collect();
        assert_eq!(order, [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(reverse_lexicographic(11, Level(0)), Leaf(0));
    }

    #[test]
    fn every_leaf_comes_once_a_round() {
        let mut order: Vec<u64> = (64..128).map(|turn| reverse_lexicographic(turn, Level(6)).0).collect();
        order.sort_unstable();
        assert_eq!(order, (0..64).collect::<Vec<u64>>());
    }
}
