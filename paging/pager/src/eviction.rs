//! The eviction of a page from the application's memory.

/// The way in which a page is taken from the application in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eviction {
    /// By moving it where the kernel can (Linux 6.8), else by write protection and a copy.
    #[default]
    Auto,
    /// Its memory is moved to another address: nothing is copied.
    Move,
    /// It is write-protected, copied, and freed.
    ProtectAndCopy,
}
