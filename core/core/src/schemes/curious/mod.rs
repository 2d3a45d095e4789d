//! CURIOUS: Bindschaedler, Naveed, Pan, Wang, Huang, "Practicing Oblivious Access on Cloud Storage: the Gap, the
//! Fallacy, and the New Way Forward", CCS 2015. Partitions over any scheme; over a k-ary tree as its authors ran it.
//!
//! ```text
//! to access block v, in partition p:
//!     read a path of p: to the leaf of v, or to a random one
//!     position[v] <- UniformRandom(partitions);  v goes to the cache
//!     write the path, with up to Z cached blocks of p, each with a random leaf
//! ```
//!
//! [`partitions`](crate::partitions) has the common parts of schemes with partitions, and says what the trace shows.
//! The text of the paper could not be read: this follows its authors' code, and what others write about it. Their code
//! looks for a cached block in a fresh random partition. The block's own partition may or may not have been written
//! since. So two accesses of a block show the same partition about twice as often as they should. This scheme looks for
//! it in its own partition. Blocks that find no room on their path wait in the stash of the tree; in their code they go
//! back to the cache. The paper's log, which is optional there too, is a scheme around it: [`Logged`].
//!
//! **What the trace shows** (adversary `Full`): how many accesses there were. Partitions and paths are uniform and
//! independent.
//!
//! **Costs** of an access to a tree of L levels. On line, L slots of Z blocks are read, in one round trip for a batch.
//! Off line, L slots are written. Two accesses of a batch to one partition take their turns.
//!
//! **Errors**: those of [`partitions`](crate::partitions).

mod log;
mod parameters;
mod tree;

pub use log::{Logged, log_layout};
pub use parameters::CuriousParameters;
pub use tree::{Tree, TreeShape};

use crate::partitions::Partitions;
use crate::range::OutOfRange;
use crate::store::Store;
use crate::types::Bucket;
use rand_core::RngCore;

/// A CURIOUS over k-ary trees.
pub type CuriousOram<S, R> = Partitions<Tree<S, R>, R>;

/// Builds a CURIOUS over a store that was never written. Its buckets are numbered from `first_bucket`. `random` gives
/// the randomness of the partitions, then that of each tree.
///
/// # Errors
/// [`OutOfRange`] for parameters that are not valid.
pub fn curious<S: Store + Clone, R: RngCore>(
    parameters: &CuriousParameters,
    first_bucket: Bucket,
    store: &S,
    mut random: impl FnMut() -> R,
) -> Result<CuriousOram<S, R>, OutOfRange> {
    let tree = parameters.tree;
    Partitions::new(parameters.partitions.clone(), random(), |partition| {
        let first = Bucket(first_bucket.0 + u64::from(partition) * tree.buckets());
        Tree::new(tree, first, store.clone(), random())
    })
}
