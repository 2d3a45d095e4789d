//! The parameters of a small tree.

use crate::range::{self, OutOfRange};
use crate::schemes::path::{BucketsByLevel, PathParametersError, TreeTopParameters};

/// The parameters of a small tree. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallTreeParameters {
    /// The number of sets of the tags: 1 to 2^20.
    pub sets: u32,
    /// The number of tags of a set: 1 to 64.
    pub ways: u32,
    /// The tree, in batches of 1 and with `top` 0. Its capacity is that of the [tags](Self::tags), and the most
    /// blocks that may be on their way out: at least one.
    pub tree: BucketsByLevel,
    /// The levels of the small tree on the trusted side.
    pub tree_top: TreeTopParameters,
}

/// The reason why the parameters of a small tree are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SmallTreeParametersError {
    /// A value that is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The tree is refused.
    #[error(transparent)]
    Tree(#[from] PathParametersError),
    /// The tree has no room for a block that is on its way out.
    #[error(
        "a small tree for {capacity} blocks is too small for {tags} tags: choose a capacity above the number of tags"
    )]
    Capacity {
        /// The capacity of the tree.
        capacity: u64,
        /// The number of tags.
        tags: u64,
    },
    /// The blocks of a filled store do not fit the tags.
    #[error("block {block} of a filled store has no free tag in its set")]
    Held {
        /// The block.
        block: u64,
    },
}

impl SmallTreeParameters {
    /// The maximum number of blocks, without those on their way out.
    pub fn tags(&self) -> u64 {
        u64::from(self.sets) * u64::from(self.ways)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`SmallTreeParametersError`].
    pub fn validate(&self) -> Result<(), SmallTreeParametersError> {
        let tree = self.tree.parameters();
        range::check(&[
            ("sets of the tags", self.sets.into(), 1, 1 << 20),
            ("ways of the tags", self.ways.into(), 1, 64),
            ("max_batch of the small tree", tree.max_batch.into(), 1, 1),
        ])?;
        let (capacity, tags) = (tree.capacity, self.tags());
        if capacity <= tags {
            return Err(SmallTreeParametersError::Capacity { capacity, tags });
        }
        Ok(())
    }
}
