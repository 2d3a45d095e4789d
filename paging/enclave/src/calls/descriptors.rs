//! The program's descriptors: the three standard streams, and copies of them.

use super::{Done, Program, Stop};
use crate::host::Mailbox;
use crate::processor::Processor;
use alloc::collections::BTreeMap;
use ameles_enclave_boundary::mailbox::Stream;
use linux_raw_sys::errno::{EBADF, EINVAL, EMFILE};
use linux_raw_sys::general::{
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_GETFL, F_SETFD, F_SETFL, FD_CLOEXEC, O_CLOEXEC, O_RDONLY, O_WRONLY,
};

/// Descriptors that a program may have open.
pub(super) const DESCRIPTORS: u32 = 1024;

/// A descriptor that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The stream that is written; `None` for standard input.
    stream: Option<Stream>,
    /// `FD_CLOEXEC`, which the program may ask for again. It never executes another program.
    flags: u64,
}

/// The descriptors that are open, by their numbers.
#[derive(Debug)]
pub(crate) struct Descriptors(BTreeMap<u32, Open>);

impl Default for Descriptors {
    fn default() -> Self {
        let streams = [None, Some(Stream::Output), Some(Stream::Error)];
        Descriptors((0..).zip(streams.map(|stream| Open { stream, flags: 0 })).collect())
    }
}

impl Descriptors {
    fn open(&self, descriptor: u64) -> Result<Open, Stop> {
        // A descriptor is an `int`: the upper half of the register says nothing.
        self.0.get(&(descriptor as u32)).copied().ok_or(Stop::Errno(EBADF))
    }

    /// The stream that a descriptor writes; `None` if it reads standard input.
    pub(super) fn stream(&self, descriptor: u64) -> Result<Option<Stream>, Stop> {
        Ok(self.open(descriptor)?.stream)
    }

    /// Opens the lowest free descriptor from a number on as a copy of another one.
    fn copy(&mut self, descriptor: u64, from: u32, flags: u64) -> Done {
        let Open { stream, .. } = self.open(descriptor)?;
        let free = (from..DESCRIPTORS).find(|number| !self.0.contains_key(number));
        let free = free.ok_or(Stop::Errno(EMFILE))?;
        self.0.insert(free, Open { stream, flags });
        Ok(free.into())
    }
}

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    pub(super) fn dup(&mut self, descriptor: u64) -> Done {
        self.descriptors.copy(descriptor, 0, 0)
    }

    pub(super) fn dup3(&mut self, descriptor: u64, to: u64, flags: u64) -> Done {
        let to = to as u32;
        if flags & !u64::from(O_CLOEXEC) != 0 || to == descriptor as u32 {
            return Err(Stop::Errno(EINVAL));
        }
        if to >= DESCRIPTORS {
            return Err(Stop::Errno(EBADF));
        }
        let Open { stream, .. } = self.descriptors.open(descriptor)?;
        let flags = if flags == 0 { 0 } else { FD_CLOEXEC.into() };
        self.descriptors.0.insert(to, Open { stream, flags });
        Ok(to.into())
    }

    pub(super) fn fcntl(&mut self, descriptor: u64, command: u64, argument: u64) -> Done {
        let open = self.descriptors.open(descriptor)?;
        match command as u32 {
            F_DUPFD | F_DUPFD_CLOEXEC if argument as u32 >= DESCRIPTORS => Err(Stop::Errno(EINVAL)),
            F_DUPFD => self.descriptors.copy(descriptor, argument as u32, 0),
            F_DUPFD_CLOEXEC => self.descriptors.copy(descriptor, argument as u32, FD_CLOEXEC.into()),
            F_GETFD => Ok(open.flags),
            F_SETFD => {
                let flags = argument & u64::from(FD_CLOEXEC);
                self.descriptors.0.insert(descriptor as u32, Open { flags, ..open });
                Ok(0)
            }
            F_GETFL => Ok(if open.stream.is_some() { O_WRONLY } else { O_RDONLY }.into()),
            F_SETFL => Ok(0),
            _ => Err(Stop::Refused),
        }
    }

    /// Closes a descriptor. The host is not told: its streams stay open until the run has ended.
    pub(super) fn close(&mut self, descriptor: u64) -> Done {
        self.descriptors.0.remove(&(descriptor as u32)).map(|_| 0).ok_or(Stop::Errno(EBADF))
    }
}
