//! The outcome of a system call.

use crate::host::HostError;
use crate::paging::AccessError;
use crate::space::OutOfPages;
use ameles_enclave_boundary::exit::{Ending, Failure};
use linux_raw_sys::errno::{EFAULT, ENOMEM};

/// The outcome of a call that gives no value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// An error, as Linux numbers it.
    Errno(u32),
    /// The end of the run.
    End(Ending),
    /// The call is refused.
    Refused,
}

impl From<AccessError> for CallError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Illegal => CallError::Errno(EFAULT),
            AccessError::End(ending) => CallError::End(ending),
        }
    }
}

impl From<HostError> for CallError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Failed(errno) => CallError::Errno(errno.into()),
            HostError::End(ending) => CallError::End(ending),
        }
    }
}

impl From<OutOfPages> for CallError {
    fn from(_: OutOfPages) -> Self {
        CallError::Errno(ENOMEM)
    }
}

pub(super) type CallResult = Result<u64, CallError>;

/// Ends a program whose request cannot be refused safely.
pub(super) fn fatal_call(text: &str) -> CallError {
    CallError::End(Ending::Failed { kind: Failure::Refused, text: text.into() })
}
