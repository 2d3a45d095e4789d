//! The parameters of Root ORAM, and the privacy that follows from them.

use crate::schemes::path::{PathParameters, PathParametersError};
use crate::types::Level;
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of a Root ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RootParameters {
    /// The tree, and all that Path ORAM needs.
    pub path: PathParameters,
    /// s, the level of the roots of the subtrees in which a block may stay: 0 to L. There are 2^s of them.
    pub subtrees: Level,
    /// λ, the probability that a block stays in its subtree for certain, in units of 2^-32. With 0 it is Path ORAM.
    pub near: u32,
}

/// The reason why parameters of a Root ORAM are refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootParametersError {
    /// The parameters of the tree are refused.
    #[error(transparent)]
    Path(#[from] PathParametersError),
    /// There are no such subtrees.
    #[error(
        "subtree level {subtrees} is deeper than the leaf level {leaf_level}: choose at most {leaf_level}"
    )]
    Subtrees {
        /// s.
        subtrees: u32,
        /// L.
        leaf_level: u32,
    },
}

impl RootParameters {
    /// The parameters with the greatest λ that keeps to a privacy of ε, at least 0.
    pub fn for_epsilon(path: PathParameters, subtrees: Level, epsilon: f64) -> Self {
        let more = libm::expm1(epsilon.max(0.0) / 2.0);
        let near = if more.is_finite() { more / (more + libm::exp2(subtrees.0.into())) } else { 1.0 };
        // Rounds down, so that ε is not exceeded; a number that is too large becomes the greatest.
        RootParameters { path, subtrees, near: (near * 4_294_967_296.0) as u32 }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), RootParametersError> {
        let (subtrees, leaf_level) = (self.subtrees.0, self.path.leaf_level.0);
        if subtrees > leaf_level {
            return Err(RootParametersError::Subtrees { subtrees, leaf_level });
        }
        Ok(self.path.validate()?)
    }

    /// λ.
    pub fn near_probability(&self) -> f64 {
        f64::from(self.near) / 4_294_967_296.0
    }

    /// ε: the logarithm of how much likelier any trace is under a sequence of accesses than under one that differs in a
    /// single access. `2 ln(1 + 2^s λ/(1 - λ))`.
    pub fn epsilon(&self) -> f64 {
        let near = self.near_probability();
        2.0 * libm::log1p(libm::exp2(self.subtrees.0.into()) * near / (1.0 - near))
    }
}
