//! The place where the pages of a batch are done: the calling thread, or a pool.

#[cfg(feature = "parallel")]
use super::pool::PagePool;
#[cfg(feature = "parallel")]
use alloc::sync::Arc;

/// The calling thread, and perhaps others.
#[derive(Default)]
pub(crate) struct Spread {
    #[cfg(feature = "parallel")]
    pub(crate) pool: Option<Arc<PagePool>>,
}

impl Spread {
    /// Calls `work` for every part, with one of `owns` that no other part uses meanwhile; each thread needs one.
    pub(crate) fn each<T: Send>(&self, parts: usize, owns: &mut [T], work: impl Fn(&mut T, usize) + Sync) {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            return pool.pool().run(parts, owns, work);
        }
        (0..parts).for_each(|part| work(&mut owns[0], part));
    }

    /// Calls `work` for every chunk of a buffer.
    pub(crate) fn each_chunk<T: Send>(
        &self,
        buffer: &mut [u8],
        chunk_bytes: usize,
        owns: &mut [T],
        work: impl Fn(&mut T, usize, &mut [u8]) + Sync,
    ) {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            return pool.pool().run_chunks(buffer, chunk_bytes, owns, work);
        }
        for (part, chunk) in buffer.chunks_exact_mut(chunk_bytes).enumerate() {
            work(&mut owns[0], part, chunk);
        }
    }
}
