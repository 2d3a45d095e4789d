//! The errors of the thesis's workloads.

use crate::bench::BenchError;
use crate::cosbench::CosbenchError;
use crate::sizes::FolderError;
use crate::virtual_time::Stalled;
use ameles_core::oram::OramError;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

/// The reason why a run has no figures.
#[derive(Debug, thiserror::Error)]
pub enum ThesisError {
    /// The file of a workload cannot be read.
    #[error("{} cannot be read", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// The workload cannot be read.
    #[error("the workload {0} cannot be read")]
    Workload(String, #[source] CosbenchError),
    /// The sizes of its files are not known.
    #[error("the sizes of a workload's files are not known")]
    Folder(#[from] FolderError),
    /// The workload contains something that the lab does not support.
    #[error("the workload cannot be run in virtual time: {0}")]
    Unsupported(String),
    /// An object that was never written is read.
    #[error(
        "object {object} of container {container} is read but was never written: write it in an earlier stage"
    )]
    NoObject {
        /// The number of the container.
        container: u64,
        /// The number of the object.
        object: u64,
    },
    /// A line of a recording is wrong.
    #[error("the recording, line {line}: {why}")]
    Trace {
        /// The line, counted from 1.
        line: usize,
        /// The reason.
        why: String,
    },
    /// The objects do not fit.
    #[error(
        "the objects do not fit into the ORAM's {capacity} blocks of {block_bytes} bytes: write fewer or smaller ones, or draw \
         others with --seed"
    )]
    TooSmall {
        /// The number of blocks of the ORAM.
        capacity: u64,
        /// The size of a block in bytes.
        block_bytes: u64,
    },
    /// There is no such workload, scheme or block size.
    #[error("the {what} {name} is unknown: choose {known}")]
    Unknown {
        /// The kind of thing that was named.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The known names.
        known: String,
    },
    /// The parameters of a scheme are invalid.
    #[error("the parameters of {0} are invalid")]
    Parameters(&'static str, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// A scheme failed.
    #[error("a scheme failed")]
    Scheme(#[from] OramError<Infallible>),
    /// A run would never end.
    #[error(transparent)]
    Stalled(#[from] Stalled),
    /// A run in real time failed.
    #[error("a run in real time failed")]
    RealTime(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ThesisError {
    /// A failure of a run in real time.
    pub(super) fn real_time(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ThesisError::RealTime(error.into())
    }
}

impl From<BenchError> for ThesisError {
    fn from(error: BenchError) -> Self {
        ThesisError::real_time(error)
    }
}
