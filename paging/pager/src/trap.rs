//! The way from the touch of an absent page to the fault path.

use core::fmt;
use core::str::FromStr;

/// The two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trap {
    /// A thread of the pager serves the faults of all others, also those of system calls.
    #[default]
    HandlerThread,
    /// The thread itself serves its fault in a handler of SIGBUS: no other thread must wake up.
    ///
    /// Whoever chooses it promises that
    /// - **no system call touches the region**: it would fail with EFAULT;
    /// - no thread that touches the region blocks SIGBUS (the kernel would end the process), and nobody replaces the
    ///   handler afterwards (a handler that was there before gets every SIGBUS that is not the region's);
    /// - every such thread has 64 KiB of stack left. The handler runs on the stack of the thread that faults.
    ///
    /// While a fault is served the thread takes no other signal: it takes them when the touch has been done.
    InThread,
}

impl Trap {
    /// Both.
    pub const ALL: [Trap; 2] = [Trap::HandlerThread, Trap::InThread];

    /// The name used on command lines and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Trap::HandlerThread => "handler-thread",
            Trap::InThread => "in-thread",
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A trap was named that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such trap; choose handler-thread or in-thread")]
pub struct UnknownTrap;

impl FromStr for Trap {
    type Err = UnknownTrap;

    fn from_str(name: &str) -> Result<Self, UnknownTrap> {
        Trap::ALL.into_iter().find(|trap| trap.name().eq_ignore_ascii_case(name)).ok_or(UnknownTrap)
    }
}
