//! A crew: whatever a platform without threads has to share work with.

use crate::share;

/// Processors that share a caller's work, made by a platform: the harts of a machine, say.
///
/// Work is given by the methods of `dyn Workers`, which are those of a pool of threads.
///
/// # Safety
/// [`do_parts`](Self::do_parts) calls `work(lane, part)` once for every part in `0..parts` and for no other, with lanes
/// below [`lanes`](Self::lanes), and never twice at a time with the same lane. When it returns, or panics, no call is
/// under way. All that one of the processors wrote before, the next to be called has seen.
pub unsafe trait Workers: Sync {
    /// The number of those who share the work, the caller included. It stays the same.
    fn lanes(&self) -> usize;

    /// Does the parts, and returns when all are done.
    fn do_parts(&self, parts: usize, work: &(dyn Fn(usize, usize) + Sync));
}

impl dyn Workers + '_ {
    /// Calls `work(own, part)` once for every part in `0..parts`, and returns when all are done. `own` is one of
    /// `owns`, which no other lane uses meanwhile.
    ///
    /// # Panics
    /// If `owns` are fewer than the lanes.
    pub fn run<T: Send>(&self, parts: usize, owns: &mut [T], work: impl Fn(&mut T, usize) + Sync) {
        assert!(owns.len() >= self.lanes(), "each lane needs something of its own");
        // SAFETY: a crew promises as much of its calls.
        self.do_parts(parts, &unsafe { share::with_own(owns, work) });
    }

    /// As `run`, where part i also gets the i-th `chunk_bytes` of `buffer`.
    ///
    /// # Panics
    /// As `run`, or if `buffer` is no whole number of chunks, or a chunk has no bytes.
    pub fn run_chunks<T: Send>(
        &self,
        buffer: &mut [u8],
        chunk_bytes: usize,
        owns: &mut [T],
        work: impl Fn(&mut T, usize, &mut [u8]) + Sync,
    ) {
        assert!(owns.len() >= self.lanes(), "each lane needs something of its own");
        let parts = share::chunks(buffer, chunk_bytes);
        // SAFETY: a crew promises as much of its calls.
        self.do_parts(parts, &unsafe { share::with_chunk(buffer, chunk_bytes, owns, work) });
    }
}
