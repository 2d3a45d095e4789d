//! The figures of a run.

use lethe_store::Usage;
use std::time::Duration;

/// The filling of a store before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filling {
    /// Requests that write.
    pub requests: u64,
    /// Bytes that they carry.
    pub bytes: u64,
}

/// The evictions or rebuilds that a run must have for its figures to say what an access costs.
const ENOUGH: u64 = 4;

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ran {
    /// Requests and bytes, the filling not counted; bytes stored at the end.
    pub usage: Usage,
    /// The filling.
    pub filling: Filling,
    /// Accesses of blocks.
    pub accesses: u64,
    /// The time until nothing is owed.
    pub runtime: Duration,
    /// The mean time of a read of an object.
    pub read: Duration,
    /// The mean time of a write of an object.
    pub write: Duration,
    /// Bytes that the trusted side must hold.
    pub local_bytes: u64,
    /// Accesses between two evictions or rebuilds; 0 where nothing comes later.
    pub period: u64,
    /// Emergency evictions.
    pub emergencies: u64,
    /// The instants that the job has noted.
    pub ends: [Duration; 4],
}

impl Ran {
    /// True if fewer than four evictions or rebuilds came due in the run: much of what its accesses cost comes after it.
    pub fn is_short(&self) -> bool {
        self.accesses < ENOUGH * self.period
    }
}
