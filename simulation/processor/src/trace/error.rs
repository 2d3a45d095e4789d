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
    /// The trace is empty.
    #[error("it is empty, so it is not a trace: record it again")]
    Empty,
    /// The trace has no miss after the warm-up.
    #[error("it has no misses: record it again, with more instructions or misses")]
    NoMisses,
    /// The trace is compressed by a program whose files are not unpacked here.
    #[error("it is compressed by {by}: unpack it first with {command}, or compress it again with gzip or xz")]
    Compressed {
        /// The compressor.
        by: &'static str,
        /// The command that unpacks it.
        command: &'static str,
    },
    /// The trace is neither text nor a binary trace.
    #[error(
        "byte {byte} is not text, and the file does not begin as a binary trace: name a trace, or give its format \
         by --trace-format: {names}"
    )]
    Binary {
        /// The first byte that is not text, counted from 0.
        byte: usize,
        /// The names of formats.
        names: String,
    },
    /// The trace is a text whose first line has no known format.
    #[error(
        "line {line} of the trace: {text} is not the beginning of a trace: write it as one of these formats does, or \
         name its format by --trace-format: {names}"
    )]
    Unknown {
        /// The line, counted from 1.
        line: u64,
        /// The line itself.
        text: String,
        /// The names of formats.
        names: String,
    },
    /// The first line of the trace fits several formats, which read it differently.
    #[error("line {line} of the trace: {text} may be of several formats: give --trace-format {names}")]
    Ambiguous {
        /// The line, counted from 1.
        line: u64,
        /// The line itself.
        text: String,
        /// The names of those formats.
        names: String,
    },
    /// The file does not begin as a packed trace.
    #[error(
        "it does not begin as a packed trace does: name one that ameles-trace-recorder or ameles-traces wrote"
    )]
    Foreign,
    /// A packed trace is of another version.
    #[error("it is a packed trace of another version than 1: record it again with this version")]
    Version,
    /// A record of a packed trace is wrong.
    #[error(
        "{} of the packed trace (byte {byte} when unpacked): {why}: copy the trace again, or record it again",
        place(*record)
    )]
    Packed {
        /// The record, counted from 1. 0 is the number before the records, which counts those that only warm the cache.
        record: u64,
        /// The byte at which it begins, counted from 0, in what is unpacked.
        byte: u64,
        /// The fault.
        why: String,
    },
    /// A record of another binary trace is wrong.
    #[error("{} of the {format} trace (byte {byte}): {why}", place(*record))]
    Record {
        /// The name of the format.
        format: &'static str,
        /// The record, counted from 1; 0 for what comes before the first.
        record: u64,
        /// The byte at which it begins, counted from 0, in what is unpacked.
        byte: u64,
        /// The fault, and what to do.
        why: String,
    },
    /// The programs touch more memory than there is.
    #[error(transparent)]
    Full(#[from] Full),
    /// The file cannot be read.
    #[error("the trace cannot be read: {0}")]
    Io(io::Error),
}

/// A record in words.
fn place(record: u64) -> String {
    if record == 0 { "the head".to_owned() } else { format!("record {record}") }
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
    /// The number of lines of the memory.
    pub lines: u64,
}
