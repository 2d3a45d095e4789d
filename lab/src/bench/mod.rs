//! The benches behind `ameles bench`. Each is a function from its options to a [`Report`] that prints itself.
//!
//! | bench | what is measured | baseline |
//! |---|---|---|
//! | [`memory`] | accesses per second over sealed memory, one thread | the same accesses on a plain array |
//! | [`files`] | bytes moved and requests made by a vault over a folder | the same blocks as plain files |
//! | [`link`] | throughput and latency of a vault over a link | the same reads with no ORAM |
//! | [`gateway`] | puts and gets of many clients over HTTP and a link | the same server with no ORAM |
//! | [`processor`] | paths per second of the processor lab's simulation | the DRAM model alone |
//! | [`grow`] | bytes on the trusted disk, openings after a crash, at several sizes | the smallest of the sizes |
//!
//! Rates are medians over repetitions, in which a measured subject and its baselines take turns. So other work of the
//! machine slows all of them.

pub mod files;
pub mod gateway;
pub mod grow;
pub mod link;
pub mod memory;
pub mod processor;

mod cpu_time;
mod progress;
mod ready;
mod reference_figures;
mod report;
mod resident;
pub(crate) mod s3;
mod sample;
pub(crate) mod service;

pub use progress::{Progress, Silent};
pub use reference_figures::ReferenceFigure;
pub use report::{Bound, Grid, Report, Row, TrustedMemory};
pub use sample::Sample;
pub use service::VaultOptions;

/// The reason why a bench could not be run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The options contradict each other or are out of range.
    #[error("the bench cannot run with these options: {0}")]
    Options(String),
    /// The system under test failed.
    #[error("the system under test failed: {0}")]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl BenchError {
    pub(crate) fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        BenchError::Failed(error.into())
    }
}
