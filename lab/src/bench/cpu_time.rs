//! The time that a process has had of a processor: other programs do not lengthen it as they do the time that passes.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The time of all threads of this process, user and system together.
pub(super) fn process_cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
