//! The threads on which the pages of one fault are sealed and opened in parallel.

use std::io;
use std::time::Duration;

/// Threads that are ready for the pages of a fault. They outlive the fault; a fault starts no thread.
///
/// A hand-over of pages takes a fraction of a microsecond, allocates nothing and takes no lock. So the caller may be a
/// signal handler: see [`ameles_fork_join::Pool`]. The sealed bytes are the same with and without the pool.
///
/// The threads touch private memory and the shared memory, and nothing else. A pager of a whole program makes the pool
/// first, with the program's signals blocked, and from memory that is not paged.
#[derive(Debug)]
pub struct PagePool {
    pool: ameles_fork_join::Pool,
}

impl PagePool {
    /// The time for which a thread polls for the next fault before it sleeps. Under heavy paging a fault comes every
    /// few tens of microseconds, and a thread that polls for longer takes the processor from the program.
    pub const SPIN_TIME: Duration = Duration::from_micros(50);

    /// Starts a pool that spreads pages over `threads` threads, the caller's among them.
    ///
    /// # Errors
    /// The system cannot start a thread.
    ///
    /// # Panics
    /// If `threads` is 0.
    pub fn new(threads: usize) -> io::Result<Self> {
        Ok(PagePool::from_pool(ameles_fork_join::Pool::new(threads, Self::SPIN_TIME)?))
    }

    /// Uses a pool that was made elsewhere, with another spin time or with threads bound to processors.
    pub fn from_pool(pool: ameles_fork_join::Pool) -> Self {
        PagePool { pool }
    }

    /// Returns the number of threads that share the work, the caller's among them.
    pub fn threads(&self) -> usize {
        self.pool.lanes()
    }

    /// Wakes the threads at the beginning of a fault, so that they are ready for its pages.
    pub fn wake(&self) {
        self.pool.wake();
    }

    pub(crate) fn pool(&self) -> &ameles_fork_join::Pool {
        &self.pool
    }
}
