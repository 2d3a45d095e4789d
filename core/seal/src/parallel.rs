//! The cores on which large batches are sealed and opened.

#[cfg(feature = "parallel")]
use alloc::sync::Arc;
use core::fmt;

/// A batch below this many bytes is sealed where it is: handing it over would take longer than sealing it.
#[cfg(feature = "parallel")]
const MIN_BYTES: usize = 256 << 10;

/// A batch is halved until its parts are below this many bytes.
#[cfg(feature = "parallel")]
const PART_BYTES: usize = 64 << 10;

/// The place where batches are sealed: the calling thread (the default), or a pool of threads for the large ones.
///
/// The sealed bytes are the same either way; so is the trace.
#[derive(Clone, Default)]
pub struct SealThreads {
    #[cfg(feature = "parallel")]
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl SealThreads {
    /// Works on the calling thread alone.
    pub fn single() -> Self {
        SealThreads::default()
    }

    /// Works on a pool of this many threads (rayon) for large batches; with fewer than two, on the calling thread
    /// alone.
    ///
    /// # Errors
    /// When the system gives no threads.
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

    /// Does `work`, in parts if it is large and there are threads. `split` halves a work, `join` puts two results
    /// together in their order.
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

/// Work on a run of slots that can be halved.
#[cfg_attr(not(feature = "parallel"), allow(dead_code, reason = "without threads, work is done whole"))]
pub(crate) trait Work: Send + Sized {
    /// The result of the work.
    type Done: Send;

    /// Bytes to be sealed or opened.
    fn bytes(&self) -> usize;

    /// Halves the work, or gives it back if it is one slot.
    fn split(self) -> Result<(Self, Self), Self>;

    /// Does the work.
    fn run(self) -> Self::Done;

    /// Puts the results of two halves together.
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
