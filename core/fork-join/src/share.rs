//! The parts of a job: the lane that does each, and the caller's memory that belongs to it.
//!
//! Why the unsafe code is sound: one thread at a time uses a lane, and a part is done once. So no other thread has the
//! lane's state, or the part's chunk, at the same time. Both are borrowed from the caller until the job is done.

use core::ops::Range;

/// Returns the parts of a lane. Shares are equal, or the first ones are larger by one part: the caller has lane 0 and
/// starts before the others.
///
/// # Panics
/// If there are no lanes.
pub fn share(parts: usize, lanes: usize, lane: usize) -> Range<usize> {
    let (share, longer) = (parts / lanes, parts % lanes);
    let first = lane * share + lane.min(longer);
    first..first + share + usize::from(lane < longer)
}

/// Returns the work with one of `states` for each lane.
///
/// # Safety
/// The result is called with lanes below `states.len()`, and never twice at a time with the same lane.
pub(crate) unsafe fn with_state<'a, T: Send>(
    states: &'a mut [T],
    work: impl Fn(&mut T, usize) + Sync + 'a,
) -> impl Fn(usize, usize) + Sync + 'a {
    let states = SharedPointer(states.as_mut_ptr());
    // The closure captures by value, so that another thread finds everything in one place.
    move |lane, part| {
        // SAFETY: the caller promises that the lane is within `states`, and that no other thread has it. T: Send allows
        // another thread to use it.
        work(unsafe { &mut *states.at(lane) }, part);
    }
}

/// Returns the same work, where part i also has the i-th `chunk_bytes` of `buffer`.
///
/// # Safety
/// As [`with_state`]. Each part below `buffer.len() / chunk_bytes` is done at most once, and no other part is done.
pub(crate) unsafe fn with_chunk<'a, T: Send>(
    buffer: &'a mut [u8],
    chunk_bytes: usize,
    states: &'a mut [T],
    work: impl Fn(&mut T, usize, &mut [u8]) + Sync + 'a,
) -> impl Fn(usize, usize) + Sync + 'a {
    let buffer = SharedPointer(buffer.as_mut_ptr());
    let each = move |state: &mut T, part: usize| {
        // SAFETY: the caller promises that the chunk lies within the buffer, and that no other call has it.
        let chunk = unsafe { core::slice::from_raw_parts_mut(buffer.at(part * chunk_bytes), chunk_bytes) };
        work(state, part, chunk);
    };
    // SAFETY: the caller promises it.
    unsafe { with_state(states, each) }
}

/// The number of chunks.
///
/// # Panics
/// If the buffer is not a whole number of chunks, or a chunk has no bytes.
pub(crate) fn chunks(buffer: &[u8], chunk_bytes: usize) -> usize {
    assert!(buffer.len().is_multiple_of(chunk_bytes), "the buffer is a whole number of chunks");
    buffer.len() / chunk_bytes
}

/// A pointer that threads may share. Each place that dereferences it says why that is sound.
struct SharedPointer<T>(*mut T);

// SAFETY: it returns pointers only; a thread that dereferences one has an element of its own, of a type that is `Send`.
unsafe impl<T: Send> Sync for SharedPointer<T> {}

impl<T> SharedPointer<T> {
    fn at(&self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }
}
