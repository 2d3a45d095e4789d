//! Watching the untrusted memory of another process from fault to fault, as whoever owns that memory could.
//!
//! The paged process tells of each fault over a socket and waits ([`FaultReporter`]); meanwhile the memory stands still, and
//! the watcher looks which slots have changed ([`Watcher`], [`Changes`]). Nothing secret crosses the socket: counts of
//! faults and evictions, which the watcher could count itself, and the file that holds the untrusted memory.

mod changes;
mod memory;
mod socket;

pub use changes::Changes;
pub use memory::WatchedMemory;
pub use socket::{FaultCounts, FaultReporter, Geometry, WatchError, Watcher};
