//! A program's access rights to memory.

use std::ffi::c_int;

/// A program's access rights to memory. Memory that may be written or executed may also be read, as on most processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(c_int);

impl Access {
    /// No access: any access is a SIGSEGV.
    pub const NONE: Access = Access(libc::PROT_NONE);
    /// A store is a SIGSEGV.
    pub const READ: Access = Access(libc::PROT_READ);
    /// Read and write, as for allocated memory.
    pub const READ_WRITE: Access = Access(libc::PROT_READ | libc::PROT_WRITE);

    /// Returns the rights of the flags of `mmap` and `mprotect`, or `None` if there are other flags than read, write
    /// and execute.
    pub fn of(protection: c_int) -> Option<Self> {
        let known = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let reads = if protection == libc::PROT_NONE { 0 } else { libc::PROT_READ };
        (protection & !known == 0).then_some(Access(protection | reads))
    }

    /// Returns the flags for `mprotect`.
    pub fn protection(self) -> c_int {
        self.0
    }

    /// Returns whether the memory may be written.
    pub fn writes(self) -> bool {
        self.0 & libc::PROT_WRITE != 0
    }

    /// Returns whether the memory may be executed.
    pub fn executes(self) -> bool {
        self.0 & libc::PROT_EXEC != 0
    }
}
