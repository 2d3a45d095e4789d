//! Calls about descriptors.

use super::Program;
use super::call_error::{CallError, CallResult};
use super::descriptors::{DESCRIPTORS, OpenDescriptor};
use crate::host::Mailbox;
use crate::processor::Processor;
use linux_raw_sys::errno::{EBADF, EINVAL};
use linux_raw_sys::general::{
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_GETFL, F_SETFD, F_SETFL, FD_CLOEXEC, O_CLOEXEC, O_RDONLY, O_WRONLY,
};

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    pub(super) fn dup(&mut self, descriptor: u64) -> CallResult {
        self.descriptors.copy(descriptor, 0, 0)
    }

    pub(super) fn dup3(&mut self, descriptor: u64, to: u64, flags: u64) -> CallResult {
        let to = to as u32;
        if flags & !u64::from(O_CLOEXEC) != 0 || to == descriptor as u32 {
            return Err(CallError::Errno(EINVAL));
        }
        if to >= DESCRIPTORS {
            return Err(CallError::Errno(EBADF));
        }
        let OpenDescriptor { stream, .. } = self.descriptors.get(descriptor)?;
        let flags = if flags == 0 { 0 } else { FD_CLOEXEC.into() };
        self.descriptors.set(to, OpenDescriptor { stream, flags });
        Ok(to.into())
    }

    pub(super) fn fcntl(&mut self, descriptor: u64, command: u64, argument: u64) -> CallResult {
        let open = self.descriptors.get(descriptor)?;
        match command as u32 {
            F_DUPFD | F_DUPFD_CLOEXEC if argument as u32 >= DESCRIPTORS => Err(CallError::Errno(EINVAL)),
            F_DUPFD => self.descriptors.copy(descriptor, argument as u32, 0),
            F_DUPFD_CLOEXEC => self.descriptors.copy(descriptor, argument as u32, FD_CLOEXEC.into()),
            F_GETFD => Ok(open.flags),
            F_SETFD => {
                let flags = argument & u64::from(FD_CLOEXEC);
                self.descriptors.set(descriptor as u32, OpenDescriptor { flags, ..open });
                Ok(0)
            }
            F_GETFL => Ok(if open.stream.is_some() { O_WRONLY } else { O_RDONLY }.into()),
            F_SETFL => Ok(0),
            _ => Err(CallError::Refused),
        }
    }

    /// Closes a descriptor. The host is not notified: its streams stay open until the run has ended.
    pub(super) fn close(&mut self, descriptor: u64) -> CallResult {
        self.descriptors.close(descriptor).map(|()| 0)
    }
}
