//! The size of a page.

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;
