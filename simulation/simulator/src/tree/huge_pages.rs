//! Vectors of gigabytes on huge pages. A path reads a bucket of each level, and with pages of 4 KiB nearly each of
//! these misses the TLB.

/// Bytes below which a vector stays on ordinary pages: a huge page of x86-64.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A vector of that many zeros.
pub(crate) fn zeros<T: Copy + Default>(len: usize) -> Vec<T> {
    // The allocator gives fresh pages for so many zeros, and none of them has been touched yet.
    let vec = vec![T::default(); len];
    advise(&vec);
    vec
}

/// Makes a vector that many zeros, in its own memory if that suffices.
pub(crate) fn zeros_in<T: Copy + Default>(mut vec: Vec<T>, len: usize) -> Vec<T> {
    if vec.capacity() < len {
        drop(vec);
        return zeros(len);
    }
    vec.clear();
    vec.resize(len, T::default());
    vec
}

/// A copy of a slice.
pub(crate) fn copy<T: Copy>(from: &[T]) -> Vec<T> {
    let mut vec = with_capacity(from.len());
    vec.extend_from_slice(from);
    vec
}

/// Makes a vector a copy of a slice, in its own memory if that suffices.
pub(crate) fn copy_into<T: Copy>(vec: &mut Vec<T>, from: &[T]) {
    if vec.capacity() < from.len() {
        *vec = copy(from);
    } else {
        vec.clear();
        vec.extend_from_slice(from);
    }
}

/// An empty vector with room for that many.
pub(crate) fn with_capacity<T>(len: usize) -> Vec<T> {
    let vec = Vec::with_capacity(len);
    advise(&vec);
    vec
}

/// Asks the kernel for huge pages below a vector whose memory was not touched yet. Without them the vector is slower,
/// and nothing else changes.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the system call has no safe form")]
fn advise<T>(vec: &Vec<T>) {
    let first = vec.as_ptr().cast::<u8>().cast_mut();
    let skipped = first.align_offset(HUGE_PAGE_BYTES);
    let bytes = (vec.capacity() * size_of::<T>()).saturating_sub(skipped) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if bytes == 0 {
        return;
    }
    let start = first.wrapping_add(skipped).cast();
    // SAFETY: the pages lie whole within the vector's allocation, and the advice changes no byte of them.
    let advised = unsafe { rustix::mm::madvise(start, bytes, rustix::mm::Advice::LinuxHugepage) };
    // A kernel that has no huge pages refuses.
    let _ = advised;
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_on_huge_pages_has_the_words_that_it_was_given() {
        let words = 3 * HUGE_PAGE_BYTES / size_of::<u64>() + 5;
        let mut vec: Vec<u64> = zeros(words);
        assert!(vec.len() == words && vec.iter().all(|word| *word == 0));
        vec[words - 1] = 7;
        assert!(copy(&vec) == vec);
        assert!(zeros_in(vec![3; 2], 1) == [0] && zeros_in(vec![3; 2], 900) == [0; 900]);
        let mut used = vec![3; 2];
        for from in [&vec[..], &[1, 2, 3], &[]] {
            copy_into(&mut used, from);
            assert!(used == from);
        }
        assert!(zeros::<u32>(0).is_empty() && copy(&[1, 2]) == [1, 2]);
    }
}
