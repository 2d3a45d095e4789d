//! Path merging: Zhang, Sun, Zhang, Zhang, Liang, Wang, Chen, Di, "Fork Path: Improving Efficiency of ORAM by Removing
//! Redundant Memory Accesses", MICRO 2015.
//!
//! ```text
//! to access the path to leaf x, while the path to leaf w is held:
//!  1  f <- the levels that the paths to w and x share, from the root's on
//!  2  for l in f, f + 1, .., L:   S <- S u ReadBucket(P(x, l))
//!  3  serve the block
//!  4  for l in L, L - 1, .., f:   write the bucket P(w, l) with blocks of S, as Path ORAM does
//!  5  hold the path to x
//! ```
//!
//! The buckets that two consecutive paths share stay in the stash between the two. Line 4 comes after line 2, so that
//! the next path can belong to any access. No path is written back as if it were the last one. A dummy is the next path
//! only if there is nothing else when it begins.
//!
//! **What the trace shows**: the paths, each without the buckets that it shares with the previous one. That follows
//! from the paths themselves. **Costs**: room for another path in the stash.

use super::{PathOram, State};
use crate::oram::{OramError, admission};
use crate::position_map::PositionMap;
use crate::store::Store;
use crate::types::Leaf;
use rand_core::RngCore;

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> PathOram<S, P, R> {
    /// Merges consecutive paths from now on. The stash has room for a path more.
    pub fn merge_paths(&self) {
        self.state.borrow_mut().kept = 1;
    }

    /// The path that was read last, if it is held.
    pub fn held_path(&self) -> Option<Leaf> {
        self.state.borrow().held.last().copied()
    }

    /// Reads the path to a leaf for no block.
    ///
    /// # Errors
    /// The errors of [`Oram::access`](crate::oram::Oram::access); [`OramError::Contradiction`] if it is not a leaf.
    pub async fn dummy_at(&self, leaf: Leaf) -> Result<(), OramError<S::Error>> {
        let _guard = self.lock.acquire().await;
        if leaf.0 >= self.tree.leaves() {
            return Err(OramError::Contradiction("a path leads beyond the tree"));
        }
        let operation = admission::begin(self, &self.poison_flag)?;
        self.until_written(&[leaf]).await?;
        self.read_path(leaf).await?;
        operation.complete();
        Ok(())
    }

    /// Held paths that are to be written back.
    pub(super) fn pending_paths(&self) -> usize {
        let state = self.state.borrow();
        state.held.len().saturating_sub(state.kept)
    }

    /// The maximum of blocks in the stash, with what is held.
    pub(super) fn hard_bound(&self) -> usize {
        let State { kept, has_siblings, .. } = &*self.state.borrow();
        let more_paths = *kept + usize::from(*has_siblings);
        self.parameters.stash_bound as usize + more_paths * self.parameters.blocks_per_batch() as usize
    }
}
