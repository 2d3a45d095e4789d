//! The eviction of a page from the application's memory.

/// The way in which a page is taken from the application in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eviction {
    /// The page is moved where the kernel can do that (Linux 6.8). Otherwise it is write-protected and copied.
    #[default]
    Auto,
    /// The page's memory is moved to another address: nothing is copied.
    Move,
    /// The page is write-protected, copied, and freed.
    ProtectAndCopy,
}
