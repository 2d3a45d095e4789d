//! The choice of the thread that handles a page fault. Messages and tables call it the trap.

use ameles_seal::named_enum;

/// The thread that handles a page fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FaultHandling {
    /// A thread of the pager handles the faults of all others, also those in system calls.
    #[default]
    HandlerThread,
    /// The thread itself handles its fault in a handler of SIGBUS: no other thread must wake up.
    ///
    /// It requires that
    /// - **no system call accesses the region**: it would fail with EFAULT;
    /// - no thread that accesses the region blocks SIGBUS: the kernel would end the process. The handler is not
    ///   replaced afterwards; an earlier handler gets every SIGBUS that is not the region's;
    /// - every such thread has 64 KiB of stack left. The handler runs on the stack of the thread that faults.
    ///
    /// During a fault the thread takes no other signal: it takes them after the access has been repeated.
    InThread,
}

impl FaultHandling {
    /// Both values.
    pub const ALL: [FaultHandling; 2] = [FaultHandling::HandlerThread, FaultHandling::InThread];

    /// The name used on command lines and in tables.
    pub fn name(self) -> &'static str {
        match self {
            FaultHandling::HandlerThread => "handler-thread",
            FaultHandling::InThread => "in-thread",
        }
    }
}

named_enum! {
    FaultHandling,
    /// The error for an unknown trap.
    UnknownFaultHandling,
    "unknown trap; choose handler-thread or in-thread"
}
