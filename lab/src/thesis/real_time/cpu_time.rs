//! The processor time of this process, less that of the S3 server's threads.

use super::server::THREAD_NAME;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::time::Duration;

/// Returns the user and system time of this process without the server's threads. If the system does not report the
/// time of a thread, as outside of Linux, the server's time is included.
pub(super) fn without_server() -> Duration {
    let all = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default();
    all.saturating_sub(server_threads())
}

fn server_threads() -> Duration {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Duration::ZERO };
    let of = |task: fs::DirEntry| {
        let read = |name| fs::read_to_string(task.path().join(name)).ok();
        let is_server = read("comm")?.trim() == THREAD_NAME;
        let nanos = read("schedstat")?.split(' ').next()?.parse().ok()?;
        is_server.then(|| Duration::from_nanos(nanos))
    };
    tasks.filter_map(Result::ok).filter_map(of).sum()
}
