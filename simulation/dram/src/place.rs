//! The place of a block.

use std::fmt;

/// A place in the memory that holds one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The channel, from 0.
    pub channel: u32,
    /// The rank of the channel, from 0.
    pub rank: u32,
    /// The bank of the rank, from 0.
    pub bank: u32,
    /// The row of the bank, from 0.
    pub row: u32,
    /// The column of the row, in blocks from 0.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { channel, rank, bank, row, column } = self;
        write!(f, "channel {channel}, rank {rank}, bank {bank}, row {row}, column {column}")
    }
}
