//! The threads that seal and open pages side by side.

use super::worth::threads_that_pay;
use crate::error::Error;
use crate::linux::signals::Blocked;
use crate::options::Options;
use ameles_fork::Pool;
use ameles_seal::pages::PagePool;
use rustix::io::Errno;
use std::sync::{Arc, Barrier};

/// Starts them.
pub(super) fn pool(options: &Options) -> Result<Arc<PagePool>, Error> {
    let threads = match options.threads {
        Some(0) => {
            return Err(Error::System {
                what: "a pool of 0 threads; choose at least 1",
                errno: Errno::INVAL,
            });
        }
        Some(threads) => threads,
        None => threads_that_pay(options)?,
    };
    // The pool's threads inherit the mask: no signal handler of the application runs on them.
    let _blocked = Blocked::all();
    // A thread allocates when it begins: not while faults are being served.
    let begun = Arc::new(Barrier::new(threads));
    let begins = Arc::clone(&begun);
    let start = move |_| {
        begins.wait();
    };
    let pool = Pool::with_start(threads, PagePool::SPIN_TIME, start).map_err(Error::Thread)?;
    begun.wait();
    Ok(Arc::new(PagePool::from_pool(pool)))
}
