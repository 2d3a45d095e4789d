//! The accesses that a lost machine takes along, as the owner reads them.

use crate::config::size::Size;
use std::fmt;

/// Accesses that the store lacks, as a number and as the bytes of their blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unshipped {
    /// The number of accesses.
    pub accesses: u64,
    bytes: Size,
}

impl Unshipped {
    /// These accesses to blocks of this many bytes.
    pub fn of(accesses: u64, block: u64) -> Self {
        Unshipped { accesses, bytes: Size(accesses * block) }
    }
}

impl fmt::Display for Unshipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} accesses, {} of blocks", self.accesses, self.bytes)
    }
}
