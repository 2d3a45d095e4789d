//! A job's parts: which lane does them, and what of the caller's memory each has.
//!
//! The argument for the unsafe code, once: a lane is one thread's at a time, and a part is done once. So nobody else
//! has the lane's own, or the part's chunk, meanwhile. Both are borrowed from the caller until the job is done.

use core::ops::Range;

/// The parts of a lane: equal shares, the larger ones first. The caller has lane 0 and begins at once, the others a
/// little later.
///
/// # Panics
/// If there are no lanes.
pub fn share(parts: usize, lanes: usize, lane: usize) -> Range<usize> {
    let (share, longer) = (parts / lanes, parts % lanes);
    let first = lane * share + lane.min(longer);
    first..first + share + usize::from(lane < longer)
}

/// The work with one of `owns` for each lane.
///
/// # Safety
/// The result is called with lanes below `owns.len()`, and never twice at a time with the same.
pub(crate) unsafe fn with_own<'a, T: Send>(
    owns: &'a mut [T],
    work: impl Fn(&mut T, usize) + Sync + 'a,
) -> impl Fn(usize, usize) + Sync + 'a {
    let owns = Shared(owns.as_mut_ptr());
    // By value, so that another thread finds all that it needs in one place.
    move |lane, part| {
        // SAFETY: the caller promises that the lane is within `owns`, and that no other thread has it. T: Send allows
        // another thread to use it.
        work(unsafe { &mut *owns.at(lane) }, part);
    }
}

/// The same, where part i also has the i-th `chunk_bytes` of `buffer`.
///
/// # Safety
/// As [`with_own`]; and each part below `buffer.len() / chunk_bytes` is done at most once, and no other.
pub(crate) unsafe fn with_chunk<'a, T: Send>(
    buffer: &'a mut [u8],
    chunk_bytes: usize,
    owns: &'a mut [T],
    work: impl Fn(&mut T, usize, &mut [u8]) + Sync + 'a,
) -> impl Fn(usize, usize) + Sync + 'a {
    let buffer = Shared(buffer.as_mut_ptr());
    let each = move |own: &mut T, part: usize| {
        // SAFETY: the caller promises that the chunk lies within the buffer, and that no other call has it.
        let chunk = unsafe { core::slice::from_raw_parts_mut(buffer.at(part * chunk_bytes), chunk_bytes) };
        work(own, part, chunk);
    };
    // SAFETY: the caller promises it.
    unsafe { with_own(owns, each) }
}

/// The number of chunks.
///
/// # Panics
/// If the buffer is no whole number of them, or a chunk has no bytes.
pub(crate) fn chunks(buffer: &[u8], chunk_bytes: usize) -> usize {
    assert!(buffer.len().is_multiple_of(chunk_bytes), "the buffer is a whole number of chunks");
    buffer.len() / chunk_bytes
}

/// A pointer that threads may share; its uses are argued where it is followed.
struct Shared<T>(*mut T);

// SAFETY: it gives out pointers only; a thread that follows one has a place of its own, of a type that may be sent.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn at(&self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }
}
