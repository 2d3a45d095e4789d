//! A program's access rights to a page, and the kinds of access.

use linux_raw_sys::general::{PROT_EXEC, PROT_NONE, PROT_READ, PROT_WRITE};

/// A program's access rights to memory. Memory that may be written or executed may be read too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(u8);

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// A load.
    Load,
    /// A store, or an atomic operation.
    Store,
    /// The fetch of an instruction.
    Fetch,
}

const READ: u8 = 1;
const WRITE: u8 = 2;
const EXECUTE: u8 = 4;

impl Access {
    /// No access: every access is illegal.
    pub const NONE: Access = Access(0);
    /// Loads only.
    pub const READ: Access = Access(READ);
    /// Loads and stores.
    pub const READ_WRITE: Access = Access(READ | WRITE);
    /// Loads, and fetches of instructions.
    pub const READ_EXECUTE: Access = Access(READ | EXECUTE);

    /// Returns the rights of the flags of `mmap` and `mprotect`, or `None` if there are other flags than read, write
    /// and execute.
    pub fn of(protection: u64) -> Option<Self> {
        let has = |flag: u32, bit: u8| if protection & u64::from(flag) == 0 { 0 } else { bit };
        if protection & !u64::from(PROT_READ | PROT_WRITE | PROT_EXEC) != 0 {
            return None;
        }
        let any = if protection == u64::from(PROT_NONE) { 0 } else { READ };
        Some(Access(any | has(PROT_WRITE, WRITE) | has(PROT_EXEC, EXECUTE)))
    }

    /// Returns the rights of the bits that [`bits`](Self::bits) gives.
    pub(crate) fn of_bits(bits: u64) -> Self {
        Access(bits as u8 & (READ | WRITE | EXECUTE))
    }

    /// Read, write, execute: bits 0, 1 and 2.
    pub(crate) fn bits(self) -> u64 {
        self.0.into()
    }

    /// The rights of both.
    #[must_use]
    pub fn and(self, other: Access) -> Self {
        Access(self.0 | other.0)
    }

    /// Returns whether an access is legal.
    pub fn allows(self, touch: Touch) -> bool {
        let needed = match touch {
            Touch::Load => READ,
            Touch::Store => WRITE,
            Touch::Fetch => EXECUTE,
        };
        self.0 & needed != 0
    }

    /// Returns whether instructions may be fetched.
    pub fn executes(self) -> bool {
        self.allows(Touch::Fetch)
    }
}
