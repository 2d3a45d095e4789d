//! The figures of a run.

use ameles_store::Usage;
use std::time::Duration;

/// The filling of a store before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FillingTraffic {
    /// The number of requests that write.
    pub requests: u64,
    /// The number of bytes that they carry.
    pub bytes: u64,
}

/// The minimum of evictions or rebuilds in a run whose figures show the cost of an access.
const MIN_EVICTIONS: u64 = 4;

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunResult {
    /// The requests and bytes, without the filling; bytes stored at the end.
    pub usage: Usage,
    /// The filling.
    pub filling: FillingTraffic,
    /// The number of times that the job was done: all figures are those of one.
    pub repeats: u32,
    /// The number of accesses of blocks.
    pub accesses: u64,
    /// The time until no step is pending.
    pub runtime: Duration,
    /// The mean time of a read of an object.
    pub read: Duration,
    /// The mean time of a write of an object.
    pub write: Duration,
    /// The instants that the job notes, since its first step after what is prepared.
    pub step_times: [Duration; 4],
    /// The number of bytes that the trusted side must hold; for CURIOUS and ObliviStore their peak.
    pub local_bytes: u64,
    /// The number of accesses between two evictions or rebuilds; 0 if nothing comes later.
    pub period: u64,
    /// The number of emergency evictions.
    pub emergencies: u64,
}

impl RunResult {
    /// True if fewer than four evictions or rebuilds came due in the run: much of the cost of its accesses comes after
    /// the run.
    pub fn is_short(&self) -> bool {
        self.accesses * u64::from(self.repeats.max(1)) < MIN_EVICTIONS * self.period
    }
}

/// The number of times that a job of this many accesses is done, so that enough evictions are due in it.
pub(super) fn repeats(accesses: u64, period: u64) -> u32 {
    u32::try_from((MIN_EVICTIONS * period).div_ceil(accesses.max(1)).max(1)).unwrap_or(u32::MAX)
}

/// The mean requests and bytes of a job that was done `repeats` times between two readings of a meter.
pub(super) fn mean_usage(after: &Usage, before: &Usage, repeats: u32) -> Usage {
    let mean = |of: fn(&Usage) -> u64| {
        let all = of(after) - of(before);
        (all + u64::from(repeats) / 2) / u64::from(repeats.max(1))
    };
    Usage {
        slot_reads: mean(|usage| usage.slot_reads),
        bucket_writes: mean(|usage| usage.bucket_writes),
        bucket_deletes: mean(|usage| usage.bucket_deletes),
        blob_reads: mean(|usage| usage.blob_reads),
        blob_writes: mean(|usage| usage.blob_writes),
        bytes_up: mean(|usage| usage.bytes_up),
        bytes_down: mean(|usage| usage.bytes_down),
        ..Usage::default()
    }
}
