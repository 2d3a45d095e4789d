//! The program's descriptors: the three standard streams, and copies of them.

use super::call_error::{CallError, CallResult};
use alloc::collections::BTreeMap;
use ameles_enclave_boundary::mailbox::Stream;
use linux_raw_sys::errno::{EBADF, EMFILE};

/// The maximum number of open descriptors of a program.
pub(super) const DESCRIPTORS: u32 = 1024;

/// An open descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenDescriptor {
    /// The output stream; `None` for standard input.
    pub(super) stream: Option<Stream>,
    /// `FD_CLOEXEC`, which the program may query. It never executes another program.
    pub(super) flags: u64,
}

/// The open descriptors, by number.
#[derive(Debug)]
pub(crate) struct Descriptors(BTreeMap<u32, OpenDescriptor>);

impl Default for Descriptors {
    fn default() -> Self {
        let streams = [None, Some(Stream::Output), Some(Stream::Error)];
        Descriptors((0..).zip(streams.map(|stream| OpenDescriptor { stream, flags: 0 })).collect())
    }
}

impl Descriptors {
    /// Returns an open descriptor.
    pub(super) fn get(&self, descriptor: u64) -> Result<OpenDescriptor, CallError> {
        // A descriptor is an `int`: the upper half of the register is ignored.
        self.0.get(&(descriptor as u32)).copied().ok_or(CallError::Errno(EBADF))
    }

    /// The output stream of a descriptor; `None` if it is standard input.
    pub(super) fn stream(&self, descriptor: u64) -> Result<Option<Stream>, CallError> {
        Ok(self.get(descriptor)?.stream)
    }

    /// Opens the lowest free descriptor, from a number on, as a copy of another one.
    pub(super) fn copy(&mut self, descriptor: u64, from: u32, flags: u64) -> CallResult {
        let OpenDescriptor { stream, .. } = self.get(descriptor)?;
        let free = (from..DESCRIPTORS).find(|number| !self.0.contains_key(number));
        let free = free.ok_or(CallError::Errno(EMFILE))?;
        self.0.insert(free, OpenDescriptor { stream, flags });
        Ok(free.into())
    }

    /// Opens a descriptor with this number, or replaces it.
    pub(super) fn set(&mut self, number: u32, open: OpenDescriptor) {
        self.0.insert(number, open);
    }

    /// Closes a descriptor.
    pub(super) fn close(&mut self, descriptor: u64) -> Result<(), CallError> {
        self.0.remove(&(descriptor as u32)).map(|_| ()).ok_or(CallError::Errno(EBADF))
    }
}
