//! The threads that seal and open pages in parallel.

use super::thread_cost::worthwhile_threads;
use crate::error::Error;
use crate::linux::signals::BlockedSignals;
use crate::options::Options;
use ameles_fork_join::Pool;
use ameles_seal::pages::PagePool;
use rustix::io::Errno;
use std::sync::{Arc, Barrier};

/// Starts the threads.
pub(super) fn pool(options: &Options) -> Result<Arc<PagePool>, Error> {
    let threads = match options.threads {
        Some(0) => {
            return Err(Error::System {
                what: "a pool of 0 threads; choose at least 1",
                errno: Errno::INVAL,
            });
        }
        Some(threads) => threads,
        None => worthwhile_threads(options)?,
    };
    // The threads inherit the mask: no signal handler of the application runs on them.
    let _blocked = BlockedSignals::all();
    // A thread allocates when it starts. That must be finished before the first fault.
    let started = Arc::new(Barrier::new(threads));
    let starts = Arc::clone(&started);
    let start = move |_| {
        starts.wait();
    };
    let pool = Pool::with_start(threads, PagePool::SPIN_TIME, start).map_err(Error::Thread)?;
    started.wait();
    Ok(Arc::new(PagePool::from_pool(pool)))
}
