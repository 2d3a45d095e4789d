//! The size of a page.

/// The size of a page in bytes.
pub const PAGE_BYTES: usize = 4096;
