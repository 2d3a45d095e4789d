//! The rights of a program over memory.

use std::ffi::c_int;

/// The rights of a program over memory. Memory that may be written or executed may be read too, as on most processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(c_int);

impl Access {
    /// Nothing: a touch is a SIGSEGV.
    pub const NONE: Access = Access(libc::PROT_NONE);
    /// A store is a SIGSEGV.
    pub const READ: Access = Access(libc::PROT_READ);
    /// All but execute it, as memory that is allocated.
    pub const READ_WRITE: Access = Access(libc::PROT_READ | libc::PROT_WRITE);

    /// From the flags of `mmap` and `mprotect`; `None` if there are others among them than read, write and execute.
    pub fn of(protection: c_int) -> Option<Self> {
        let known = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let reads = if protection == libc::PROT_NONE { 0 } else { libc::PROT_READ };
        (protection & !known == 0).then_some(Access(protection | reads))
    }

    /// As `mprotect` takes it.
    pub fn protection(self) -> c_int {
        self.0
    }

    /// Tells whether the memory may be written.
    pub fn writes(self) -> bool {
        self.0 & libc::PROT_WRITE != 0
    }

    /// Tells whether the memory may be executed.
    pub fn executes(self) -> bool {
        self.0 & libc::PROT_EXEC != 0
    }
}
