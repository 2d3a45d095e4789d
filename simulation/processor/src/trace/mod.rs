//! Traces: the misses of a program's first-level data cache, in program order.
//!
//! A load that misses is a [`Kind::Load`]. A store that misses, and a dirty line that is evicted, are
//! [`Kind::Store`], as in the traces of USIMM.

mod champsim;
mod dramsim;
mod error;
mod file;
mod first_level;
mod format;
mod gem5;
mod gem5_text;
mod lines;
pub mod mix;
pub mod packed;
pub mod pages;
mod pauses;
mod ramulator;
mod records;
pub mod synthetic;
pub mod text;
mod unpack;

pub use error::{Full, TraceError};
pub use file::{FileError, Trace, WrittenFormat, convert, open};
pub use format::Format;

use crate::units::Line;

/// A miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The number of instructions between the previous miss and this one.
    pub instructions: u32,
    /// The kind of access to the line.
    pub kind: Kind,
    /// The line.
    pub line: Line,
}

/// A kind of access to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An instruction waits for the line.
    Load,
    /// The line is written, and no instruction waits for it.
    Store,
}

/// The greatest line of a trace: addresses have 64 bits.
pub const MAX_LINE: Line = Line(u64::MAX >> 6);

#[cfg(test)]
mod tests;
