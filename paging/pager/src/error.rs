//! Errors of making a region.

use crate::scheme_error::SchemeError;
use rustix::io::Errno;

/// The reason why a region cannot be made, and what to do about it. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The page size is not supported.
    #[error("this system's pages have {0} bytes; the pager supports only pages of 4096 bytes")]
    PageBytes(usize),
    /// Parameters of the scheme, of sealing or of the fault path; the limit on untrusted memory.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The kernel, or its settings.
    #[error(transparent)]
    Userfaultfd(#[from] UserfaultfdError),
    /// SIGBUS cannot be delivered.
    #[error(
        "this thread blocks SIGBUS, which the in-thread trap needs: unblock SIGBUS, or choose the handler thread"
    )]
    SigbusBlocked,
    /// SIGBUS is delivered to another handler.
    #[error(
        "another handler replaced the pager's SIGBUS handler: install your own before the first region is created, \
         or choose the handler thread"
    )]
    SigbusReplaced,
    /// All places of regions with the in-thread trap are in use.
    #[error("at most {0} regions with the in-thread trap can exist at a time: drop one of them")]
    TooManyRegions(usize),
    /// Memory, threads, randomness.
    #[error("the system refused {what}: {errno}")]
    System {
        /// The thing that was requested.
        what: &'static str,
        /// The reason that the system gave.
        errno: Errno,
    },
    /// A thread.
    #[error("the system could not start a thread: {0}")]
    Thread(#[source] std::io::Error),
    /// Keys and paths must be random.
    #[error("the system returned no random numbers: {0}")]
    Entropy(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The reason why the kernel does not let the pager handle page faults, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserfaultfdError {
    /// The system call is missing.
    #[error("this kernel has no userfaultfd: it needs Linux 5.7 or newer, built with CONFIG_USERFAULTFD")]
    Missing,
    /// The process lacks the permission.
    #[error(
        "this process may not handle page faults of system calls: set sysctl vm.unprivileged_userfaultfd=1, give it \
         /dev/userfaultfd or CAP_SYS_PTRACE, or choose the in-thread trap"
    )]
    NotAllowed,
    /// The kernel is too old.
    #[error("this kernel's userfaultfd cannot {what}: it needs Linux {since} or newer")]
    Lacks {
        /// The operation that the kernel cannot do.
        what: &'static str,
        /// The first version that can do it.
        since: &'static str,
    },
    /// Any other error.
    #[error("userfaultfd: {call} failed: {errno}")]
    System {
        /// The call that failed.
        call: &'static str,
        /// The system's reason.
        errno: Errno,
    },
}
