//! The configuration of ρ's small tree.

use ameles_core::schemes::path::{BucketsByLevel, PathParameters, TreeTopParameters};
use ameles_core::schemes::rho::{SmallTreeParameters, SmallTreeParametersError};
use ameles_core::types::Level;

/// A small tree before the main one (Nagarajan et al., ASPLOS 2019), as IR-ORAM is compared with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallTreeConfiguration {
    /// L, the number of levels of the tree: 2 to 32.
    pub levels: u32,
    /// Z, the number of blocks of a bucket: 1 to 64.
    pub blocks_per_bucket: u32,
    /// The number of levels on the trusted side.
    pub top_levels: u32,
    /// The number of sets of the tags.
    pub sets: u32,
    /// The number of tags of a set.
    pub ways: u32,
    /// The maximum number of blocks in transit back into the main tree: at least 1.
    pub leaving: u32,
    /// The number of blocks of its stash, with a path that was read: beyond that come background evictions.
    pub stash: u32,
    /// The number of paths of the small tree for one of the main tree. With 0, the path of either tree comes when it is
    /// needed: the watcher sees which blocks are in the small tree.
    pub paths: u32,
    /// The time at which a block is moved into the small tree.
    pub admission: Admission,
}

/// The time at which a block is moved into the small tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The access to a block. A block that loses its tag to it moves back to the main tree. Both take their paths, with
    /// those of the PosMap. All tags are in use at the start.
    OnAccess,
    /// The eviction of a dirty line from the last-level cache. The block leaves the main tree without a path, as does
    /// the one that returns there. The small tree is empty at the start. It is the code of IR-ORAM's authors; a real
    /// controller needs the paths of the main tree that this saves.
    OnEviction,
}

/// The reason why a small tree is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SmallTreeError {
    /// The tree or its tags are refused.
    #[error(transparent)]
    Parameters(#[from] SmallTreeParametersError),
    /// The small tree has too few or too many levels.
    #[error(
        "{levels} levels with {top} of them on the trusted side: choose 2 to 32, and fewer on the trusted side"
    )]
    Levels {
        /// The number of levels of the tree.
        levels: u32,
        /// The number of levels on the trusted side.
        top: u32,
    },
    /// The small tree is never read at a rate.
    #[error(
        "at a rate the trees take turns: choose one path or more of the small tree for each of the main tree"
    )]
    NoPaths,
}

/// The least Z that Path ORAM takes as the size of the largest bucket for a tree of any height.
const NOMINAL: u32 = 4;

impl SmallTreeConfiguration {
    /// IR-ORAM's, for a main tree of 25 levels: L = 19 and Z = 2, and two of its paths for one of the main tree. It has
    /// the 16,000 sets of 10 tags of the authors' code. For another tree it has as many levels fewer, and tags in
    /// proportion. Neither paper nor code states whether levels of it are on chip: none are here.
    pub fn for_main_tree(levels: u32) -> Self {
        let fewer = 25u32.saturating_sub(levels);
        SmallTreeConfiguration {
            levels: levels.saturating_sub(6).max(2),
            blocks_per_bucket: 2,
            top_levels: 0,
            sets: 16_000u32.checked_shr(fewer).unwrap_or(0).max(1),
            ways: 10,
            leaving: 8,
            stash: 200,
            paths: 2,
            admission: Admission::OnAccess,
        }
    }

    /// The parameters of the tree in the core.
    ///
    /// # Errors
    /// [`SmallTreeError`].
    pub fn parameters(&self) -> Result<SmallTreeParameters, SmallTreeError> {
        let SmallTreeConfiguration { levels, top_levels: top, .. } = *self;
        if !(2..=32).contains(&levels) || top >= levels {
            return Err(SmallTreeError::Levels { levels, top });
        }
        let tree = PathParameters {
            capacity: u64::from(self.sets) * u64::from(self.ways) + u64::from(self.leaving),
            block_bytes: 0,
            leaf_level: Level(levels - 1),
            top: Level(0),
            blocks_per_bucket: self.blocks_per_bucket.max(NOMINAL),
            max_batch: 1,
            stash_bound: self.stash,
        };
        let of_all = (Level(0), Level(levels - 1), self.blocks_per_bucket);
        let tree = BucketsByLevel::uniform(tree)
            .and_then(|tree| tree.with(&[of_all]))
            .map_err(SmallTreeParametersError::from)?;
        let tree_top = TreeTopParameters { levels: top, ways: None };
        let parameters = SmallTreeParameters { sets: self.sets, ways: self.ways, tree, tree_top };
        parameters.validate()?;
        Ok(parameters)
    }

    /// Z by level, 0 for the levels on the trusted side: the slots of a path in memory.
    pub(crate) fn slots(&self) -> Result<Vec<u32>, SmallTreeError> {
        let mut slots = self.parameters()?.tree.blocks().to_vec();
        slots[..self.top_levels as usize].fill(0);
        Ok(slots)
    }
}
