//! The pager's own descriptors, in a process whose program may close any descriptor.
#![allow(unsafe_code, reason = "system calls on descriptors; each block says why it is sound")]

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::mem::ManuallyDrop;

/// Gives this thread a copy of the process's descriptor table. Descriptors that the program closes later stay open
/// here, even if it closes all of them, as daemons do. Where the system does not allow it, the table stays shared.
pub(crate) fn keep_for_this_thread() {
    // SAFETY: each descriptor that this thread knows has the same number in the copy.
    unsafe { libc::unshare(libc::CLONE_FILES) };
}

/// A descriptor that is closed only if it still belongs to the pager. The program may have closed it, and opened
/// another file with the same number.
#[derive(Debug)]
pub(crate) struct OwnDescriptor {
    fd: ManuallyDrop<OwnedFd>,
    what: (u64, u64),
}

impl OwnDescriptor {
    pub(crate) fn new(fd: OwnedFd) -> Result<Self, Errno> {
        let what = identity(fd.as_fd())?;
        Ok(OwnDescriptor { fd: ManuallyDrop::new(fd), what })
    }

    /// Closes the descriptor, if it still belongs to the pager. It is not used again.
    pub(crate) fn close(&self) {
        if identity(self.fd.as_fd()) == Ok(self.what) {
            // SAFETY: the descriptor is open. A second call finds another one or none, and does not close it.
            unsafe { libc::close(self.fd.as_raw_fd()) };
        }
    }
}

fn identity(fd: BorrowedFd<'_>) -> Result<(u64, u64), Errno> {
    let stat = rustix::fs::fstat(fd)?;
    Ok((stat.st_dev, stat.st_ino))
}

impl AsFd for OwnDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for OwnDescriptor {
    fn drop(&mut self) {
        self.close();
    }
}
