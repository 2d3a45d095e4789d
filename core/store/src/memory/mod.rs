//! Stores in this process's memory: a fast one, and one that keeps every version.

mod blob_map;
mod dense;
mod versioned;

pub use dense::DenseMemory;
pub use versioned::{Snapshot, VersionedMemory};
