//! Building blocks of every tree scheme: shape, order of evictions, placement.

pub mod eviction_schedule;
pub mod geometry;
pub mod placement;
