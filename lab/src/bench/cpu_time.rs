//! The processor time of a process. Other programs do not lengthen it, as they lengthen the elapsed time.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The time of all threads of this process, user and system together.
pub(super) fn process_cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
