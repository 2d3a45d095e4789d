//! Building blocks of every tree scheme: shape, order of evictions, placement.

pub mod block_header;
pub(crate) mod bucket_buffer;
pub mod bucket_metadata;
pub mod eviction_schedule;
pub mod geometry;
pub mod layout;
pub mod placement;
pub mod planning;
