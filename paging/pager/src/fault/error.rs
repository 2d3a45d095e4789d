//! Errors of a fault path. After any of these a page may be lost, and no fault is handled any more.

use ameles_core::oram::OramError;

/// The reason why a fault cannot be handled. `S` is the error of the scheme's store, and `F` is the error of the
/// platform.
#[derive(Debug, thiserror::Error)]
pub enum FaultError<S: core::error::Error + 'static, F: core::error::Error + 'static> {
    /// The page lies beyond the region.
    #[error("the page fault lies beyond the region of {pages} pages")]
    OutOfRange {
        /// The number of pages of the region.
        pages: u64,
    },
    /// The scheme failed, or found that untrusted memory was tampered with.
    #[error(transparent)]
    Scheme(#[from] OramError<S>),
    /// The scheme waits: its store does not complete at once.
    #[error("the scheme waits for its store, but a page fault cannot wait: use a store that answers at once")]
    Waits,
    /// The platform failed to move a page.
    #[error("a page could not be moved: {0}")]
    Frames(F),
    /// No resident page can be taken out: each is used by a device or another process.
    #[error(
        "none of the {resident} resident pages can be taken out: each is pinned, for example by direct I/O"
    )]
    AllBusy {
        /// The number of pages that are resident.
        resident: usize,
    },
    /// An earlier fault failed.
    #[error("an earlier fault failed: no later fault is served")]
    Failed,
}

/// Invalid parameters of a fault path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultPathError {
    /// Too few resident pages.
    #[error("{resident} resident pages are too few: choose at least {min}")]
    Resident {
        /// The requested number.
        resident: usize,
        /// The minimum: 1, or 2 with second chances.
        min: usize,
    },
    /// A second chance for none, or for all.
    #[error(
        "a second chance for {unmapped} of {resident} resident pages is impossible: choose from 1 to {max} pages"
    )]
    Unmapped {
        /// The requested number.
        unmapped: usize,
        /// The number of pages that are resident.
        resident: usize,
        /// The maximum number of pages that can be unmapped: `resident` - 1.
        max: usize,
    },
    /// The scheme has too many pages to be numbered.
    #[error("a region of {0} pages is too large: choose fewer than 2^32")]
    Pages(u64),
    /// The scheme cannot move a page.
    #[error("the scheme's max_batch is 0, but a fault is a batch of one access")]
    MaxBatch,
}
