//! Observing the untrusted memory of another process from fault to fault, as its owner could.
//!
//! The paged process reports each fault over a socket and waits ([`FaultReporter`]). Meanwhile the memory does not
//! change, and the watcher compares its slots ([`Watcher`], [`Changes`]). Nothing secret crosses the socket: counts of
//! faults and evictions, which the watcher could count itself, and the file that holds the untrusted memory.

mod changes;
mod memory;
mod socket;

pub use changes::Changes;
pub use memory::WatchedMemory;
pub use socket::{FaultCounts, FaultReporter, Geometry, WatchError, Watcher};
