//! The errors of traces.

use std::io;

/// The reason why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A line of a text is wrong.
    #[error("line {line} of the trace: {why}")]
    Text {
        /// The line, counted from 1.
        line: u64,
        /// The fault, and what to write.
        why: String,
    },
    /// There is nothing in it.
    #[error("it is empty, and no trace is: record it again")]
    Empty,
    /// A packed trace is of another kind or version.
    #[error("the trace does not begin as a packed trace of version 1 does: write it again with this version")]
    Foreign,
    /// A record of a packed trace is wrong.
    #[error("record {record} of the packed trace: {why}: copy the trace again")]
    Packed {
        /// The record, counted from 1.
        record: u64,
        /// The fault.
        why: &'static str,
    },
    /// The programs touch more memory than there is.
    #[error(transparent)]
    Full(#[from] Full),
    /// The file cannot be read.
    #[error("the trace cannot be read: {0}")]
    Io(io::Error),
}

impl From<io::Error> for TraceError {
    fn from(fault: io::Error) -> Self {
        TraceError::Io(fault)
    }
}

/// The reason why a line has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the programs touch more than the {lines} lines of the memory: give it more lines, or take a shorter trace"
)]
pub struct Full {
    /// The lines of the memory.
    pub lines: u64,
}
