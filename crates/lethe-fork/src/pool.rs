//! The pool, as it is used.

use crate::core::Core;
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
            let builder = Builder::new().name(format!("lethe-fork-{lane}"));
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
        let owns = Shared(owns.as_mut_ptr());
        // By value, so that another thread finds all that it needs in one place.
        self.core.run(parts, &self.threads, &move |lane, part| {
            // SAFETY: `lane` is below `lanes()` and so within `owns`, and one thread at a time has it. `owns` is
            // borrowed until `run` returns, and T: Send allows another thread to use it.
            work(unsafe { &mut *owns.at(lane) }, part);
        });
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
        assert!(buffer.len().is_multiple_of(chunk_bytes), "the buffer is a whole number of chunks");
        let parts = buffer.len() / chunk_bytes;
        let buffer = Shared(buffer.as_mut_ptr());
        self.run(parts, owns, move |own, part| {
            // SAFETY: `part` is below `parts`, so that the chunk lies within the buffer; each part is done once, so
            // that no other thread has this chunk; and the buffer is borrowed until `run` returns.
            let chunk = unsafe { std::slice::from_raw_parts_mut(buffer.at(part * chunk_bytes), chunk_bytes) };
            work(own, part, chunk);
        });
    }
}

/// A pointer that threads may share; its uses are argued where it is followed.
struct Shared<T>(*mut T);

// SAFETY: it gives out pointers only; a thread that follows one has a place of its own, of a type that may be sent.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn at(&self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
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
