//! The errors of the enclave's bench.

use super::configuration::Configuration;
use super::machine::Refusal;

/// The reason why the bench has no figures.
#[derive(Debug, thiserror::Error)]
pub enum EnclaveError {
    /// A program cannot be run.
    #[error("{run} under {configuration}: {source}")]
    Run {
        /// The run.
        run: &'static str,
        /// The configuration.
        configuration: Configuration,
        /// The reason.
        source: Refusal,
    },
    /// A program does not fit.
    #[error("{run} under {configuration}: {reason}")]
    TooLarge {
        /// The run.
        run: &'static str,
        /// The configuration.
        configuration: Configuration,
        /// The reason.
        reason: String,
    },
    /// A program ended before it had as many faults as are counted.
    #[error(
        "{run} under {configuration} ended before its fault {last}: count fewer faults, or start to count earlier"
    )]
    FewFaults {
        /// The run.
        run: &'static str,
        /// The configuration.
        configuration: Configuration,
        /// The number of the last fault that was to be counted.
        last: u64,
    },
}
