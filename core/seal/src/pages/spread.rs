//! The place where the pages of a batch are done: the calling thread, a pool, or a platform's own processors.

#[cfg(feature = "parallel")]
use super::pool::PagePool;
#[cfg(feature = "parallel")]
use alloc::sync::Arc;
use ameles_fork::Workers;

/// The calling thread, and perhaps others.
#[derive(Default)]
pub(crate) enum Spread {
    /// The calling thread alone.
    #[default]
    Alone,
    /// Threads of a pool.
    #[cfg(feature = "parallel")]
    Pool(Arc<PagePool>),
    /// A platform's own processors.
    Workers(&'static dyn Workers),
}

impl Spread {
    /// Calls `work` for every part, with one of `owns` that no other part uses meanwhile; each thread needs one.
    pub(crate) fn each<T: Send>(&self, parts: usize, owns: &mut [T], work: impl Fn(&mut T, usize) + Sync) {
        match self {
            Spread::Alone => (0..parts).for_each(|part| work(&mut owns[0], part)),
            #[cfg(feature = "parallel")]
            Spread::Pool(pool) => pool.pool().run(parts, owns, work),
            Spread::Workers(workers) => workers.run(parts, owns, work),
        }
    }

    /// Calls `work` for every chunk of a buffer.
    pub(crate) fn each_chunk<T: Send>(
        &self,
        buffer: &mut [u8],
        chunk_bytes: usize,
        owns: &mut [T],
        work: impl Fn(&mut T, usize, &mut [u8]) + Sync,
    ) {
        match self {
            Spread::Alone => {
                for (part, chunk) in buffer.chunks_exact_mut(chunk_bytes).enumerate() {
                    work(&mut owns[0], part, chunk);
                }
            }
            #[cfg(feature = "parallel")]
            Spread::Pool(pool) => pool.pool().run_chunks(buffer, chunk_bytes, owns, work),
            Spread::Workers(workers) => workers.run_chunks(buffer, chunk_bytes, owns, work),
        }
    }
}
