//! Eviction to siblings: Rajat, Wang, Annavaram, "PageORAM: An Efficient DRAM Page Aware ORAM Strategy", MICRO 2022.
//!
//! ```text
//! to access the path to leaf x:
//!  1  for each level l:  S <- S u ReadBucket(P(x, l)) u ReadBucket(the sibling of P(x, l))
//!  2  serve the block
//!  3  for l in L, L - 1, .., 0:
//!  4      write the sibling of P(x, l) with blocks of S whose path leads there
//!  5      write P(x, l) with blocks of S, as Path ORAM does
//! ```
//!
//! A block that leaves the path early may still go a level deeper, into the sibling. So buckets can be smaller, or
//! fewer blocks wait in the stash. A bucket and its sibling are next to each other in memory, so few more DRAM pages
//! are opened.
//!
//! The authors' program writes a block into a free slot of a sibling without reading it. A watcher of the bus would
//! see which slots were free. Here siblings are read and written whole: each path moves twice as many buckets.
//!
//! **What the trace shows**: the paths, each with its siblings. **Costs**: twice the buckets of a path, and room for as
//! many blocks more in the stash. It needs batches of one access.

use super::{PathOram, State, Writing};
use crate::position_map::PositionMap;
use crate::store::Store;
use crate::types::{Bucket, Leaf, Level};
use rand_core::RngCore;

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> PathOram<S, P, R> {
    /// Reads and writes siblings from now on. The stash has room for them in addition.
    pub fn evict_to_siblings(&self) {
        self.state.borrow_mut().has_siblings = true;
    }

    /// The buckets of a level that are read with a path: its own comes last.
    pub(super) fn buckets(
        &self,
        level: Level,
        path: Leaf,
        has_siblings: bool,
    ) -> impl Iterator<Item = Bucket> + use<'_, S, P, R> {
        let sibling = self.sibling(level, path).filter(|_| has_siblings);
        sibling.into_iter().chain([path]).map(move |path| self.tree.bucket(level, path))
    }

    /// A leaf below the sibling of a path's bucket; the root has none.
    fn sibling(&self, level: Level, path: Leaf) -> Option<Leaf> {
        (level.0 > 0).then(|| Leaf(path.0 ^ 1 << (self.tree.leaf_level().0 - level.0)))
    }

    /// Line 4, for all levels in untrusted memory.
    pub(super) fn place_siblings(&self, state: &mut State<R>, path: Leaf, writing: &mut Writing) {
        let trusted = state.tree_top.levels() as usize;
        for level in self.tree.levels().skip(trusted) {
            let Some(sibling) = self.sibling(level, path) else { continue };
            let room = |other: Level| if other == level { self.tree.shape(level).blocks as usize } else { 0 };
            state.placement.plan(&state.stash, &self.tree, sibling, room, |_, _| true);
            self.fill_bucket(state, (level, self.tree.bucket(level, sibling)), writing);
        }
    }
}
