//! The pool, as it is used.

use crate::core::Core;
use crate::share;
use crate::workers::Workers;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, Thread};
use std::time::Duration;

/// Threads that stand ready to share a caller's work.
///
/// Dropping it ends its threads, but in a child after `fork`, which has none of them.
pub struct Pool {
    core: Arc<Core>,
    /// The threads of lanes 1, 2, …
    threads: Vec<Thread>,
    handles: Vec<JoinHandle<()>>,
    /// The threads that run them.
    process: u32,
}

impl Pool {
    /// A pool in which the caller and `lanes - 1` threads share the work. After its last work a thread looks out for
    /// more for as long as `patience`, which costs its processor, and then sleeps; waking it takes the caller some
    /// microseconds.
    ///
    /// # Errors
    /// When the system gives no thread.
    ///
    /// # Panics
    /// If there are no lanes.
    pub fn new(lanes: usize, patience: Duration) -> io::Result<Self> {
        Pool::with_start(lanes, patience, |_| ())
    }

    /// A pool as [`new`](Self::new) makes it, where each thread calls `start(lane)` first: to bind itself to a
    /// processor, say.
    ///
    /// # Errors
    /// When the system gives no thread.
    ///
    /// # Panics
    /// If there are no lanes.
    pub fn with_start(
        lanes: usize,
        patience: Duration,
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
                core.serve(lane, patience);
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

    /// Wakes the threads that sleep, ahead of work that comes within their patience.
    pub fn rouse(&self) {
        self.core.rouse(&self.threads);
    }

    /// Calls `work(own, part)` once for every part in `0..parts`, and returns when all are done. `own` is one of
    /// `owns`, which no other thread uses meanwhile: scratch memory, say.
    ///
    /// Neighbouring parts mostly go to the same thread, and the same parts to the same thread the next time.
    ///
    /// # Panics
    /// If `owns` are fewer than the lanes; or when a part panics, and then only after every part that another thread
    /// has begun is done.
    pub fn run<T: Send>(&self, parts: usize, owns: &mut [T], work: impl Fn(&mut T, usize) + Sync) {
        assert!(owns.len() >= self.lanes(), "each lane needs something of its own");
        // SAFETY: the core calls with lanes below `lanes()`, of each of which one thread at a time is the owner.
        self.core.run(parts, &self.threads, &unsafe { share::with_own(owns, work) });
    }

    /// As [`run`](Self::run), where part i also gets the i-th `chunk_bytes` of `buffer`.
    ///
    /// # Panics
    /// As [`run`](Self::run), or if `buffer` is no whole number of chunks, or a chunk has no bytes.
    pub fn run_chunks<T: Send>(
        &self,
        buffer: &mut [u8],
        chunk_bytes: usize,
        owns: &mut [T],
        work: impl Fn(&mut T, usize, &mut [u8]) + Sync,
    ) {
        assert!(owns.len() >= self.lanes(), "each lane needs something of its own");
        let parts = share::chunks(buffer, chunk_bytes);
        // SAFETY: as above; and the core does each part once.
        self.core.run(parts, &self.threads, &unsafe { share::with_chunk(buffer, chunk_bytes, owns, work) });
    }
}

// SAFETY: the core does each part once, calls with lanes below `lanes()`, of each of which one thread at a time is the
// owner, and returns when all parts are done.
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
            // A thread of the pool does not panic: the work's panics are caught.
            let _ = handle.join();
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("lanes", &self.lanes()).finish()
    }
}
