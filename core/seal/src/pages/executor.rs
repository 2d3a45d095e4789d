//! The threads that seal and open the pages of a batch: the caller, a pool, or a platform's own processors.

#[cfg(feature = "parallel")]
use super::pool::PagePool;
#[cfg(feature = "parallel")]
use alloc::sync::Arc;
use ameles_fork_join::Workers;

/// The calling thread, and perhaps others.
#[derive(Default)]
pub(crate) enum Executor {
    /// Only the calling thread.
    #[default]
    Caller,
    /// Threads of a pool.
    #[cfg(feature = "parallel")]
    Pool(Arc<PagePool>),
    /// A platform's own processors.
    Workers(&'static dyn Workers),
}

impl Executor {
    /// Returns the workers that share the work with the caller, if there are any.
    fn workers(&self) -> Option<&dyn Workers> {
        match self {
            Executor::Caller => None,
            #[cfg(feature = "parallel")]
            Executor::Pool(pool) => Some(pool.pool()),
            Executor::Workers(workers) => Some(*workers),
        }
    }

    /// Calls `work` for every part, with one of `states` that no other part uses meanwhile. Each thread needs one.
    pub(crate) fn for_each<T: Send>(
        &self,
        parts: usize,
        states: &mut [T],
        work: impl Fn(&mut T, usize) + Sync,
    ) {
        match self.workers() {
            None => (0..parts).for_each(|part| work(&mut states[0], part)),
            Some(workers) => workers.run(parts, states, work),
        }
    }

    /// Calls `work` for every chunk of a buffer.
    pub(crate) fn for_each_chunk<T: Send>(
        &self,
        buffer: &mut [u8],
        chunk_bytes: usize,
        states: &mut [T],
        work: impl Fn(&mut T, usize, &mut [u8]) + Sync,
    ) {
        match self.workers() {
            None => {
                for (part, chunk) in buffer.chunks_exact_mut(chunk_bytes).enumerate() {
                    work(&mut states[0], part, chunk);
                }
            }
            Some(workers) => workers.run_chunks(buffer, chunk_bytes, states, work),
        }
    }
}
