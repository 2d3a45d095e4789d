//! The threads that seal and open large batches.

#[cfg(feature = "parallel")]
use alloc::sync::Arc;
use core::fmt;

/// A batch below this many bytes is not distributed: that would take longer than sealing it.
#[cfg(feature = "parallel")]
const MIN_BYTES: usize = 256 << 10;

/// A batch is halved until its parts are below this many bytes.
#[cfg(feature = "parallel")]
const PART_BYTES: usize = 64 << 10;

/// Runs batches on the calling thread (the default), or large ones on a pool of threads.
///
/// The sealed bytes and the trace are the same either way.
#[derive(Clone, Default)]
pub struct SealThreads {
    #[cfg(feature = "parallel")]
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl SealThreads {
    /// Runs on the calling thread only.
    pub fn single() -> Self {
        SealThreads::default()
    }

    /// Runs large batches on a pool of this many threads (rayon); with fewer than two, on the calling thread only.
    ///
    /// # Errors
    /// If the system gives no threads.
    #[cfg(feature = "parallel")]
    pub fn threads(threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        if threads < 2 {
            return Ok(SealThreads::single());
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|at| alloc::format!("ameles-seal-{at}"))
            .build()?;
        Ok(SealThreads { pool: Some(Arc::new(pool)) })
    }

    /// Runs `work`, in parts if it is large and there are threads.
    pub(crate) fn run<W: Work>(&self, work: W) -> W::Done {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool
            && work.bytes() >= MIN_BYTES
        {
            return pool.install(|| in_parts(work));
        }
        work.run()
    }
}

impl fmt::Debug for SealThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Workers");
        #[cfg(feature = "parallel")]
        f.field("threads", &self.pool.as_ref().map_or(1, |p| p.current_num_threads()));
        f.finish()
    }
}

/// Work on slots that can be halved.
#[cfg_attr(not(feature = "parallel"), allow(dead_code, reason = "without threads, work is not split"))]
pub(crate) trait Work: Send + Sized {
    /// The result of the work.
    type Done: Send;

    /// Returns the number of bytes to be sealed or opened.
    fn bytes(&self) -> usize;

    /// Halves the work, or returns it unchanged if it is one slot.
    fn split(self) -> Result<(Self, Self), Self>;

    /// Runs the work.
    fn run(self) -> Self::Done;

    /// Joins the results of two halves, in order.
    fn join(first: Self::Done, second: Self::Done) -> Self::Done;
}

#[cfg(feature = "parallel")]
fn in_parts<W: Work>(work: W) -> W::Done {
    if work.bytes() < PART_BYTES {
        return work.run();
    }
    match work.split() {
        Ok((first, second)) => {
            let (first, second) = rayon::join(|| in_parts(first), || in_parts(second));
            W::join(first, second)
        }
        Err(single) => single.run(),
    }
}
