//! The metadata of Ring ORAM's buckets in memory.
//!
//! A bucket has a **header**: the number and the slot of each of its blocks, in the lines before its slots. Leaves are
//! with the blocks, as in Path ORAM. Only evictions and reshuffles write it.
//!
//! An access changes no more than a bit of each bucket for the slot that it reads, and the count of reads: the bucket's
//! **state**. The states of a subtree of buckets share one line, behind the slots of the subtree's root. So an access
//! of 15 levels reads 15 headers and 3 lines of states, and writes those 3.

use crate::tree_scheme::{Headers, TreeScheme};
use ameles_core::schemes::freecursive::BackendParameters;
use ameles_core::types::Level;

/// Bits of a line of memory.
const LINE_BITS: u32 = 512;

/// The lines that metadata take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingMetadata {
    /// The number of lines of a header.
    pub(crate) header_lines: u32,
    /// The number of levels of the subtrees whose buckets share a line of states.
    state_levels: u32,
    /// The first level in memory, on which subtrees begin.
    top: u32,
}

impl RingMetadata {
    /// Returns the metadata of a tree, if they are in memory.
    pub(crate) fn of(scheme: TreeScheme, tree: &BackendParameters) -> Option<Self> {
        let TreeScheme::Ring { metadata: Headers::InMemory, reads, .. } = scheme else { return None };
        let BackendParameters::Ring(ring) = tree else { return None };
        let bits_of = |number: u64| u64::BITS - number.leading_zeros();
        let blocks = ring.inner.blocks.max(ring.leaf.blocks);
        let slots = ring.inner.slots.max(ring.leaf.slots);
        let of_block = bits_of(ring.capacity) + bits_of(u64::from(slots) - 1);
        let of_state = (slots + bits_of(reads.into())).next_multiple_of(8);
        Some(RingMetadata {
            header_lines: (blocks * of_block).div_ceil(LINE_BITS),
            state_levels: (LINE_BITS / of_state + 1).ilog2().max(1),
            top: ring.top.0,
        })
    }

    /// Returns whether states are behind the slots of the buckets of a level.
    pub(crate) fn has_states(self, level: u32) -> bool {
        level >= self.top && (level - self.top).is_multiple_of(self.state_levels)
    }

    /// Lines of a bucket of a level.
    pub(crate) fn lines(self, level: u32) -> u32 {
        self.header_lines + u32::from(self.has_states(level))
    }

    /// The bucket behind whose slots the state of a bucket is.
    pub(crate) fn state_bucket(self, (level, index): (Level, u64)) -> (Level, u64) {
        let up = (level.0 - self.top) % self.state_levels;
        (Level(level.0 - up), index >> up)
    }

    /// The maximum number of lines of states in a subtree of `levels` levels.
    pub(crate) fn max_state_lines(levels: u32) -> u64 {
        1 << (levels - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{Configuration, Scheme};

    fn of(configuration: &Configuration) -> RingMetadata {
        let tree = configuration.oram.parameters().expect("sound parameters").tree;
        RingMetadata::of(configuration.oram.scheme, &tree).expect("they are in memory")
    }

    #[test]
    fn the_states_of_five_levels_share_a_line_and_each_header_is_one() {
        let ring = Configuration::baseline(25).with_scheme(Scheme::Ring);
        let metadata = of(&ring);
        assert_eq!((metadata.header_lines, metadata.state_levels), (1, 5));
        let with_states = (0..25).filter(|level| metadata.has_states(*level));
        assert_eq!(with_states.collect::<Vec<_>>(), [10, 15, 20]);
        assert_eq!(metadata.state_bucket((Level(19), 0b1_0110)), (Level(15), 1));
        assert_eq!(metadata.state_bucket((Level(20), 77)), (Level(20), 77));
        // 31 times twelve bits and a count up to twelve: one level more would not fit.
        assert_eq!(31 * (12 + 4), LINE_BITS - 16);
    }

    #[test]
    fn large_buckets_take_more() {
        let mut ring = Configuration::baseline(24).with_scheme(Scheme::Ring);
        ring.oram.blocks_per_bucket = 16;
        ring.oram.scheme =
            TreeScheme::Ring { eviction_rate: 20, reads: 27, slots: 27, metadata: Headers::InMemory };
        assert_eq!((of(&ring).header_lines, of(&ring).state_levels), (1, 4));
    }
}
