//! The processors with which a platform without threads shares work.

use crate::share;

/// A platform's own processors that share a caller's work: the harts of a machine, for example.
///
/// Callers use the methods of `dyn Workers`.
///
/// # Safety
/// [`do_parts`](Self::do_parts) calls `work(lane, part)` exactly once for every part in `0..parts`, and for no other
/// part. Lanes are below [`lanes`](Self::lanes), and two calls at the same time never have the same lane. When it
/// returns or panics, no call runs. Each call sees everything that earlier calls and the caller wrote.
pub unsafe trait Workers: Sync {
    /// Returns the number of processors that share the work, the caller's included. It never changes.
    fn lanes(&self) -> usize;

    /// Does the parts, and returns when all are done.
    fn do_parts(&self, parts: usize, work: &(dyn Fn(usize, usize) + Sync));
}

impl dyn Workers + '_ {
    /// Calls `work(state, part)` once for every part in `0..parts`, and returns when all are done. `state` is one of
    /// `states` (scratch memory, for example), which no other lane uses meanwhile.
    ///
    /// # Panics
    /// If there are fewer `states` than lanes.
    pub fn run<T: Send>(&self, parts: usize, states: &mut [T], work: impl Fn(&mut T, usize) + Sync) {
        assert!(states.len() >= self.lanes(), "each lane needs its own state");
        // SAFETY: `Workers` promises that of its calls.
        self.do_parts(parts, &unsafe { share::with_state(states, work) });
    }

    /// Does the same as `run`, where part i also gets the i-th chunk of `buffer`, `chunk_bytes` long.
    ///
    /// # Panics
    /// As `run`; or if `buffer` is not a whole number of chunks, or a chunk has no bytes.
    pub fn run_chunks<T: Send>(
        &self,
        buffer: &mut [u8],
        chunk_bytes: usize,
        states: &mut [T],
        work: impl Fn(&mut T, usize, &mut [u8]) + Sync,
    ) {
        assert!(states.len() >= self.lanes(), "each lane needs its own state");
        let parts = share::chunks(buffer, chunk_bytes);
        // SAFETY: `Workers` promises that of its calls.
        self.do_parts(parts, &unsafe { share::with_chunk(buffer, chunk_bytes, states, work) });
    }
}
