//! The place of each block: the leaf whose path holds it.

pub(crate) mod copy_map;
pub mod external;
pub mod external_access;
pub mod flat;
#[cfg(feature = "inspect")]
mod inspect;
pub(crate) mod look_aside;
pub mod recursive;

use crate::oram::OramError;
use crate::types::{BlockId, Leaf};

/// A look-up: the block's leaf is fetched and replaced at once, so that no leaf is ever used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The block; `None` for a dummy look-up, which looks like any other.
    pub block: Option<BlockId>,
    /// The leaf that it gets now. The scheme has drawn it; a map may replace it.
    pub new: Leaf,
    /// The leaf that it had: filled in by the map. `None` if the block was never mapped.
    pub old: Option<Leaf>,
}

impl Lookup {
    /// Returns whether it is for a block that was never mapped.
    pub(crate) fn is_new(&self) -> bool {
        self.block.is_some() && self.old.is_none()
    }
}

/// A position map.
#[allow(async_fn_in_trait, reason = "one thread drives a scheme; its futures need not be Send")]
pub trait PositionMap {
    /// The error of the store below, if there is one.
    type Error: core::error::Error + 'static;

    /// Serves the look-ups in order. A batch never names a block twice.
    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<Self::Error>>;

    /// The bytes that the map occupies on the trusted side.
    fn trusted_bytes(&self) -> usize;

    /// Returns the number of steps of [`step`](Self::step) that are pending now, for a map that has off-line work of
    /// its own. Public.
    fn pending_steps(&self) -> u64 {
        0
    }

    /// Returns whether the next `remap` would have to run `step` first. Public.
    fn must_step(&self) -> bool {
        false
    }

    /// The number of evictions so far that the stashes of the map made necessary. Each is a leak. The number should
    /// stay 0.
    fn emergencies(&self) -> u64 {
        0
    }

    /// Does one bounded step of the pending work; returns at once if none is pending.
    async fn step(&self) -> Result<(), OramError<Self::Error>> {
        Ok(())
    }
}
