//! ObliviStore: Stefanov, Shi, "ObliviStore: High Performance Oblivious Cloud Storage", S&P 2013, over the SSS ORAM:
//! Stefanov, Shi, Song, "Towards Practical Oblivious RAM", NDSS 2012.
//!
//! ```text
//! to take block v from a partition, or a dummy:
//!     for each level that holds something:  read v if it is there;  else:  read the next unread dummy
//! to put a block, or none, into it:
//!     l <- the first level that holds nothing, or the last one
//!     read of each level above l (of all, if all hold something) as many unread slots as it has room for blocks
//!     write their blocks and the new one to level l, with as many dummies and more, by a new permutation
//! ```
//!
//! At the begin the last level holds dummies only: slots that were never written. Between two buildings of a level
//! there are no more takes than it has dummies: each take is followed by a put. [`partitions`](crate::partitions) has
//! the common parts of schemes with partitions, and says what the trace shows.
//!
//! It was built from the papers' ideas, from the parameters of the code that the thesis ran, and from its definition of
//! oblivious scheduling. The semaphores of the original are not there: an operation waits for its partition only, which
//! is public. A put carries out its rebuild as a whole, in parallel with those of other partitions; the original
//! spreads it over later accesses. And Bindschaedler et al. (CCS 2015) followed the original. Before a rebuild, if many
//! slots of a level were read already, they read only as many as it holds blocks. They noted that this tells how many
//! blocks there are. Here it is always the same number.
//!
//! **What the trace shows** (adversary `Full`): how many accesses there were. Partitions are uniform and independent.
//! The slots that are read are uniform among the unread ones. Which levels hold something follows from the number of
//! puts.
//!
//! **Costs**, l levels of a partition. An access: at most l slots read on line, in one round trip for a batch. A put:
//! in the mean about l slots read and 2 l written, in two round trips, off line.
//!
//! **Errors**: those of [`partitions`](crate::partitions).

mod levels;
mod parameters;

pub use levels::{Levels, PartitionShape};
pub use parameters::ObliviStoreParameters;

use crate::partitions::Partitions;
use crate::range::OutOfRange;
use crate::store::Store;
use crate::types::Bucket;
use rand_core::RngCore;

/// An ObliviStore over a store.
pub type ObliviStore<S, R> = Partitions<Levels<S, R>, R>;

/// Builds an ObliviStore over a store that was never written. Its buckets are numbered from `first_bucket`. `random` is
/// called for the randomness of the partitions first, and then for the randomness of each partition.
///
/// # Errors
/// [`OutOfRange`] for parameters that are not valid.
pub fn oblivistore<S: Store + Clone, R: RngCore>(
    parameters: &ObliviStoreParameters,
    first_bucket: Bucket,
    store: &S,
    mut random: impl FnMut() -> R,
) -> Result<ObliviStore<S, R>, OutOfRange> {
    let shape = parameters.partition;
    Partitions::new(parameters.partitions.clone(), random(), |partition| {
        let first = Bucket(first_bucket.0 + u64::from(partition) * shape.slots());
        Levels::new(shape, first, store.clone(), random(), parameters.puts_before(partition))
    })
}
