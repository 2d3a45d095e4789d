//! The size of a block of either heap, by dlmalloc's layout.

use libc::c_void;

/// The room in a block, in bytes. The word that dlmalloc keeps before each block has the block's size and three flags.
///
/// # Safety
/// `at` is a live block of one of the two heaps.
pub(crate) unsafe fn usable_bytes(at: *mut c_void) -> usize {
    // SAFETY: the word before a live block belongs to dlmalloc.
    let head = unsafe { *at.cast::<usize>().sub(1) };
    // A block of its own mapping has neither of the two in-use flags, and one word more of overhead.
    let overhead = if head & 3 == 0 { 2 * size_of::<usize>() } else { size_of::<usize>() };
    (head & !7) - overhead
}
