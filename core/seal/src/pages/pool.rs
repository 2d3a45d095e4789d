//! The threads on which the pages of one fault are sealed and opened side by side.

use std::io;
use std::time::Duration;

/// Threads that stand ready for a fault's pages. They outlive the fault; no thread is made in a fault.
///
/// Handing pages over takes a fraction of a microsecond, allocates nothing and takes no lock, so that the caller may be
/// a signal handler: see [`ameles_fork::Pool`]. The sealed bytes are the same with and without them.
///
/// The threads touch private memory and the shared memory, and nothing else. A pager of a whole program makes the pool
/// before, with the program's signals blocked, and from memory that is not paged.
#[derive(Debug)]
pub struct PagePool {
    pool: ameles_fork::Pool,
}

impl PagePool {
    /// The time that a thread looks out for the next fault before it sleeps: faults come every few tens of microseconds
    /// where a program pages hard, and a thread that spins for longer takes the processor from the program.
    pub const PATIENCE: Duration = Duration::from_micros(50);

    /// A pool that spreads pages over `threads`, the caller's among them.
    ///
    /// # Errors
    /// When the system gives no threads.
    ///
    /// # Panics
    /// If `threads` is 0.
    pub fn new(threads: usize) -> io::Result<Self> {
        Ok(PagePool::over(ameles_fork::Pool::new(threads, Self::PATIENCE)?))
    }

    /// The same over a pool that was made elsewhere, with another patience or with threads bound to processors.
    pub fn over(pool: ameles_fork::Pool) -> Self {
        PagePool { pool }
    }

    /// The number of threads that share the work, the caller's among them.
    pub fn threads(&self) -> usize {
        self.pool.lanes()
    }

    /// Wakes the threads at the beginning of a fault, so that they stand ready when its pages come.
    pub fn rouse(&self) {
        self.pool.rouse();
    }

    pub(crate) fn pool(&self) -> &ameles_fork::Pool {
        &self.pool
    }
}
