//! Untrusted memory in this process's memory: one fast, one that keeps every version.

mod blob_map;
mod dense;
mod versioned;

pub use dense::DenseMemory;
pub use versioned::{Snapshot, VersionedMemory};
