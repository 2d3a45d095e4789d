//! The cost of measured faults.

use std::ops::Add;
use std::time::Duration;

/// The cost of the measured faults together, those of all runs of a program added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultTimes {
    /// The number of faults.
    pub faults: u64,
    /// The time from the first of them to the last, the program's own work included.
    pub elapsed: Duration,
    /// The time in the fault path.
    pub in_faults: Duration,
    /// The part of this time for moving pages in and out of the program's sight, and for the switch to the woken
    /// thread.
    pub moving: Duration,
    /// Work between the faults.
    pub off_line: Duration,
    /// The time in ciphers, in a fault or between them; only if it was metered.
    pub crypto: Duration,
    /// The time in copies of sealed pages, in a fault or between them; only if it was metered.
    pub copying: Duration,
    /// The time in ciphers and copies in the second process; only if it was metered.
    pub second_process: Duration,
    /// The number of threads that shared the work of a fault.
    pub threads: u64,
}

impl FaultTimes {
    /// Microseconds a fault of a time.
    pub(super) fn micros(&self, of: Duration) -> f64 {
        of.as_secs_f64() * 1e6 / self.faults as f64
    }
}

impl Add for FaultTimes {
    type Output = FaultTimes;

    fn add(self, other: FaultTimes) -> FaultTimes {
        FaultTimes {
            faults: self.faults + other.faults,
            elapsed: self.elapsed + other.elapsed,
            in_faults: self.in_faults + other.in_faults,
            moving: self.moving + other.moving,
            off_line: self.off_line + other.off_line,
            crypto: self.crypto + other.crypto,
            copying: self.copying + other.copying,
            second_process: self.second_process + other.second_process,
            threads: self.threads.max(other.threads),
        }
    }
}
