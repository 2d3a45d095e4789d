//! The pool: its public interface.

use crate::core::Core;
use crate::workers::Workers;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, Thread};
use std::time::Duration;

/// Threads that are ready to share a caller's work, through [`dyn Workers`](Workers).
///
/// The caller does its share itself, and neighbouring parts mostly go to the same thread, and to the same thread again
/// in the next call. A part that panics makes the call panic, after every part that another thread has begun is done.
///
/// Dropping it ends its threads. In a child after `fork` there are none to end.
pub struct Pool {
    core: Arc<Core>,
    /// The threads of lanes 1, 2, …
    threads: Vec<Thread>,
    handles: Vec<JoinHandle<()>>,
    /// The identifier of the process that started the threads.
    process: u32,
}

impl Pool {
    /// Starts a pool in which the caller and `lanes - 1` threads share the work. An idle thread polls for work for
    /// `spin_time`, which costs its processor, and then sleeps. Waking it takes the caller a few microseconds.
    ///
    /// # Errors
    /// The system cannot start a thread.
    ///
    /// # Panics
    /// If there are no lanes.
    pub fn new(lanes: usize, spin_time: Duration) -> io::Result<Self> {
        Pool::with_start(lanes, spin_time, |_| ())
    }

    /// Starts a pool as [`new`](Self::new) does. Each thread first calls `start(lane)`, for example to bind itself to a
    /// processor.
    ///
    /// # Errors
    /// The system cannot start a thread.
    ///
    /// # Panics
    /// If there are no lanes.
    pub fn with_start(
        lanes: usize,
        spin_time: Duration,
        start: impl Fn(usize) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        assert!(lanes > 0, "the caller has a lane");
        let core = Arc::new(Core::new(lanes));
        let start = Arc::new(start);
        let mut pool = Pool { core, threads: Vec::new(), handles: Vec::new(), process: std::process::id() };
        for lane in 1..lanes {
            let (core, start) = (Arc::clone(&pool.core), Arc::clone(&start));
            let builder = Builder::new().name(format!("ameles-fork-{lane}"));
            let handle = builder.spawn(move || {
                start(lane);
                core.serve(lane, spin_time);
            })?;
            pool.threads.push(handle.thread().clone());
            pool.handles.push(handle);
        }
        Ok(pool)
    }

    /// The number of threads that share the work, the caller included.
    pub fn lanes(&self) -> usize {
        self.core.lanes()
    }

    /// Wakes the threads that sleep, before work that comes within their spin time.
    pub fn wake(&self) {
        self.core.wake(&self.threads);
    }
}

// SAFETY: the core does each part once, calls with lanes below `lanes()`, and returns when all parts are done. One
// thread at a time owns a lane.
unsafe impl Workers for Pool {
    fn lanes(&self) -> usize {
        self.core.lanes()
    }

    fn do_parts(&self, parts: usize, work: &(dyn Fn(usize, usize) + Sync)) {
        self.core.run(parts, &self.threads, &work);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // In a child after `fork` there are no such threads to wait for.
            std::mem::take(&mut self.handles).into_iter().for_each(std::mem::forget);
            return;
        }
        self.core.close();
        for handle in self.handles.drain(..) {
            handle.thread().unpark();
            // A thread of the pool does not panic: panics of the work are caught.
            let _ = handle.join();
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("lanes", &self.lanes()).finish()
    }
}
