//! Root ORAM: Wagh, Cuff, Mittal, "Differentially Private Oblivious RAM", PoPETs 2018. Path ORAM in which a block may
//! stay near its old leaf. It is less private, but blocks find room deeper in the tree.
//!
//! ```text
//! as Path ORAM, but for line 2:
//!     with probability λ:  position[a] <- UniformRandom(leaves of the subtree of x)
//!     otherwise:           position[a] <- UniformRandom(all leaves)
//! ```
//!
//! It was built from the paper's idea and its definition of privacy. The distribution of the new leaf, with subtrees at
//! level s, and the proof below are ours.
//!
//! **What the trace shows** (adversary `Full`): the paths of Path ORAM, which are not independent. The trace of a
//! sequence is at most e^ε times as likely as that of any sequence that differs in one access, dummies included. Here
//! [`ε`](RootParameters::epsilon) `= 2 ln ρ` and `ρ = 1 + 2^s λ/(1 - λ)`. For k accesses the exponent is `k ε`. A δ is
//! needed only for emergencies, which are visible as in Path ORAM.
//!
//! **Proof.** The leaf of an access depends on the block's leaf before: it has the density m in another subtree, and ρ
//! m in the same one. A first access and a dummy draw with a density between the two. Let block v be requested between
//! the leaves a and b. The access adds `K(a, x) K(x, b) / K(a, b)` to the likelihood of the leaf x that it shows. Being
//! in one subtree is transitive, so of the three pairs none, one or all are: the factor lies between m/ρ and ρ m.
//! Asking for v instead of v' changes the likelihood by the quotient of two such factors: by at most ρ².
//!
//! **Costs** and **errors**: those of [Path ORAM](crate::schemes::path). Its bound on emergencies is computed for
//! uniform leaves.

#[cfg(feature = "inspect")]
mod inspect;
mod parameters;
mod position_map;

pub use parameters::{RootParameters, RootParametersError};
pub use position_map::NearPositionMap;

use crate::position_map::flat::Positions;
use crate::schemes::path::PathOram;
use crate::store::Store;
use crate::types::Bucket;
use rand_core::RngCore;

/// A Root ORAM over a store.
pub type RootOram<S, R> = PathOram<S, NearPositionMap<<S as Store>::Error, R>, R>;

/// Builds a Root ORAM over a store that was never written. Its buckets are numbered from `first_bucket`. `random` draws
/// leaves, and `coins` which blocks stay near.
///
/// # Errors
/// [`RootParametersError`].
pub fn root_oram<S: Store, R: RngCore>(
    parameters: RootParameters,
    first_bucket: Bucket,
    store: S,
    random: R,
    coins: R,
) -> Result<RootOram<S, R>, RootParametersError> {
    parameters.validate()?;
    let RootParameters { path, subtrees, near } = parameters;
    let leaves_of_subtree = 1 << (path.leaf_level.0 - subtrees.0);
    let positions = NearPositionMap::new(Positions::new(path.capacity), leaves_of_subtree, near, coins);
    Ok(PathOram::new(path, first_bucket, store, positions, random)?)
}
