//! Buckets whose size depends on their level: IR-Alloc (Raoufi, Zhang, Yang, "IR-ORAM: Path Access Type Based Memory
//! Intensity Reduction for Path-ORAM", section IV-B).
//!
//! In a half-full tree the levels between the root and the leaves are the emptiest. Every access reads and writes all
//! of them. Smaller buckets there make each path shorter. The sizes are public, and every path is as long as any other:
//! the trace depends on what it did before. In return more blocks wait in the stash, and background evictions become
//! likelier than what [`PathParameters::waiting_bound`] promises; [`Oram::emergencies`](crate::oram::Oram::emergencies)
//! counts them.

use super::{PathParameters, PathParametersError};
use crate::range;
use crate::tree::block_header::HEADER_BYTES;
use crate::tree::geometry::{BucketShape, Geometry};
use crate::tree::layout::Layout;
use crate::types::{Bucket, Level};
use alloc::vec;
use alloc::vec::Vec;

/// Z of each level in untrusted memory, the root's side first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketsByLevel {
    parameters: PathParameters,
    blocks: Vec<u32>,
}

impl BucketsByLevel {
    /// Buckets of one size at every level, as in the paper.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn uniform(parameters: PathParameters) -> Result<Self, PathParametersError> {
        let blocks = vec![parameters.blocks_per_bucket; parameters.path_buckets()];
        Self::new(parameters, blocks)
    }

    /// Sizes for each level of a tree, from `parameters.top` to the leaves: 1 to `blocks_per_bucket` blocks each.
    ///
    /// # Errors
    /// The errors of [`PathParameters::validate`], except that the tree may be more than half full;
    /// [`PathParametersError::Levels`]; [`PathParametersError::OutOfRange`]; [`PathParametersError::TreeTooSmall`] if
    /// more than three quarters of the slots would hold the capacity.
    pub fn new(parameters: PathParameters, blocks: Vec<u32>) -> Result<Self, PathParametersError> {
        parameters.validate_but_for_room()?;
        let levels = parameters.path_buckets();
        if blocks.len() != levels {
            return Err(PathParametersError::Levels { given: blocks.len(), levels });
        }
        let max = u64::from(parameters.blocks_per_bucket);
        let ranges: Vec<_> = blocks.iter().map(|z| ("blocks of a level", u64::from(*z), 1, max)).collect();
        range::check(&ranges)?;
        let buckets = BucketsByLevel { parameters, blocks };
        let slots = buckets.slots();
        let (max, capacity) = (slots - slots / 4, buckets.parameters.capacity);
        if capacity > max {
            return Err(PathParametersError::TreeTooSmall { max, capacity });
        }
        Ok(buckets)
    }

    /// These buckets, with other sizes at some levels. The ranges are written as in IR-Alloc: `(10, 16, 2)` stands for
    /// two blocks at levels 10 to 16. Levels on the trusted side are left out.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn with(mut self, ranges: &[(Level, Level, u32)]) -> Result<Self, PathParametersError> {
        let top = self.parameters.top.0;
        for (first, last, blocks) in ranges {
            for (level, size) in (top..).zip(&mut self.blocks) {
                if (first.0..=last.0).contains(&level) {
                    *size = *blocks;
                }
            }
        }
        Self::new(self.parameters, self.blocks)
    }

    /// The parameters of the tree. Its `blocks_per_bucket` is the size of the largest bucket.
    pub fn parameters(&self) -> &PathParameters {
        &self.parameters
    }

    /// Z of each level in untrusted memory, the root's side first.
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Returns the number of blocks of a path in untrusted memory, real ones and dummies: PL in IR-ORAM.
    pub fn path_blocks(&self) -> u64 {
        self.blocks.iter().map(|blocks| u64::from(*blocks)).sum()
    }

    /// Compares these buckets with a tree whose buckets all have the largest size. Returns the share of its slots that
    /// these lack. Trusted levels are counted as if they were buckets.
    pub fn space_lost(&self) -> f64 {
        let whole = u64::from(self.parameters.blocks_per_bucket) * ((2 << self.parameters.leaf_level.0) - 1);
        (whole - self.slots()) as f64 / whole as f64
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes.
    pub fn layout(&self) -> Layout {
        self.geometry(Bucket(0)).layout()
    }

    /// Returns the number of slots of the tree, its trusted levels counted as if they were buckets.
    fn slots(&self) -> u64 {
        let PathParameters { top, blocks_per_bucket, .. } = &self.parameters;
        let trusted = u64::from(*blocks_per_bucket) * ((1 << top.0) - 1);
        let of_level = |(level, blocks): (u32, &u32)| u64::from(*blocks) << level;
        trusted + (top.0..).zip(&self.blocks).map(of_level).sum::<u64>()
    }

    /// The tree, its buckets numbered from `first_bucket`.
    pub(super) fn geometry(&self, first_bucket: Bucket) -> Geometry {
        let PathParameters { leaf_level, top, block_bytes, .. } = self.parameters;
        let entry_bytes = HEADER_BYTES as u32 + block_bytes;
        let shape =
            |blocks: &u32| BucketShape { blocks: *blocks, slots: 1, slot_bytes: blocks * entry_bytes };
        Geometry::new(leaf_level, top, self.blocks.iter().map(shape).collect(), first_bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IR-ORAM's tree: 25 levels, ten of them on the trusted side, half full.
    fn tree() -> PathParameters {
        PathParameters {
            capacity: 1 << 26,
            block_bytes: 0,
            leaf_level: Level(24),
            top: Level(10),
            blocks_per_bucket: 4,
            max_batch: 1,
            stash_bound: 5000,
        }
    }

    fn ranges(ranges: &[(u32, u32, u32)]) -> Result<BucketsByLevel, PathParametersError> {
        let ranges: Vec<_> =
            ranges.iter().map(|(first, last, blocks)| (Level(*first), Level(*last), *blocks)).collect();
        BucketsByLevel::uniform(tree()).unwrap().with(&ranges)
    }

    #[test]
    fn the_sizes_that_ir_oram_prints_make_the_paths_that_it_prints_and_lose_less_than_a_hundredth() {
        for (sizes, path, lost) in [
            (&[][..], 60, 0.0),
            (&[(10, 16, 2), (17, 19, 3)], 43, 0.00877),
            (&[(10, 16, 2), (17, 18, 2)], 42, 0.00780),
            (&[(10, 14, 1), (15, 18, 2)], 37, 0.00803),
            (&[(10, 15, 1), (16, 18, 2)], 36, 0.00828),
        ] {
            let buckets = ranges(sizes).unwrap();
            assert_eq!(buckets.path_blocks(), path);
            assert!((buckets.space_lost() - lost).abs() < 1e-5, "{sizes:?}: {}", buckets.space_lost());
            let top = 4 * ((1 << 10) - 1);
            assert_eq!(buckets.layout().bytes().0, 16 * (buckets.slots() - top), "a header for each block");
        }
    }

    #[test]
    fn sizes_that_make_no_tree_are_refused() {
        let refused = |blocks: Vec<u32>| BucketsByLevel::new(tree(), blocks).unwrap_err();
        assert_eq!(refused(vec![4; 14]), PathParametersError::Levels { given: 14, levels: 15 });
        for wrong in [0, 5] {
            let mut blocks = vec![4; 15];
            blocks[3] = wrong;
            let PathParametersError::OutOfRange(out) = refused(blocks) else {
                panic!("{wrong} is out of range")
            };
            assert_eq!(out.name, "blocks of a level");
        }
        let error = ranges(&[(20, 24, 2)]).unwrap_err();
        assert!(matches!(error, PathParametersError::TreeTooSmall { .. }), "{error}");
    }
}
