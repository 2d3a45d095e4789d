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
    /// The file cannot be read.
    #[error("the trace cannot be read")]
    Io(#[from] io::Error),
}
