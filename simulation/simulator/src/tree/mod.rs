//! The tree in untrusted memory, for blocks without payload.

mod bucket_places;
pub(crate) mod cache_lines;
pub mod filled;
mod filled_ring;
pub(crate) mod huge_pages;
mod settle;
pub mod slots;
pub mod steady_state;
pub mod store;
