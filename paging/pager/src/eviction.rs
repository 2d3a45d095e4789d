//! The way in which a page leaves the application.

/// The way in which a page leaves the application's sight in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eviction {
    /// By moving it where the kernel can (Linux 6.8), else by protecting it first.
    #[default]
    Auto,
    /// Its memory is moved to another address: nothing is copied.
    Move,
    /// It is protected against writing, copied, and given back to the system.
    ProtectAndCopy,
}
