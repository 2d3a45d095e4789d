//! The reasons why the lab stops.

use super::advice::advice;
use ameles_dram::DramError;
use ameles_processor::trace::{FileError, TraceError};
use ameles_simulator::configuration_error::ConfigurationError;
use ameles_simulator::machine::RunError;
use ameles_simulator::tree_scheme::TreeScheme;

/// The reason why the processor lab stopped.
#[derive(Debug, thiserror::Error)]
pub enum ProcessorError {
    /// A name that the lab does not know.
    #[error("{what} {name} is unknown: choose {known}")]
    Unknown {
        /// The kind of name.
        what: &'static str,
        /// The name.
        name: String,
        /// The known names.
        known: String,
    },
    /// A setting changes none of the schemes that run.
    #[error(
        "--set {setting} changes none of the schemes that run: name a scheme of {kind}, or leave the setting out"
    )]
    Unused {
        /// The setting.
        setting: &'static str,
        /// The kind of scheme that the setting changes.
        kind: &'static str,
    },
    /// A setting makes a scheme unsound, although its name begins with `sound-`.
    #[error(
        "{scheme} reads every path, and hits= would save some: leave the setting out, or choose a scheme without sound-"
    )]
    Unsound {
        /// The scheme.
        scheme: String,
    },
    /// The tree is too small or too large for the lab.
    #[error("the lab has no tree of {0} levels: choose 11 to 26")]
    Levels(u32),
    /// The tree is too small for the search of bucket sizes.
    #[error("the part scaling searches a tree of one level less than {0}, too: choose 12 to 26")]
    SearchLevels(u32),
    /// The memory is impossible.
    #[error("the memory is impossible: {0}")]
    Memory(#[from] DramError),
    /// A scheme's configuration is impossible.
    #[error("scheme {scheme} with {pace}: {}", advice(source, *tree))]
    Configuration {
        /// The scheme.
        scheme: String,
        /// The rate of its paths.
        pace: String,
        /// The scheme of its tree.
        tree: TreeScheme,
        /// The reason.
        source: Box<ConfigurationError>,
    },
    /// The traces cannot be spread over this many cores.
    #[error("{cores} cores are impossible: {advice}")]
    Cores {
        /// The number of cores.
        cores: usize,
        /// The choices that are possible.
        advice: String,
    },
    /// Programs touch more memory than there is.
    #[error("{programs}: the {lines} lines of the memory are too few for all pages: {advice}")]
    Room {
        /// The programs.
        programs: String,
        /// The number of lines of the memory.
        lines: u64,
        /// The choices that have room.
        advice: String,
    },
    /// A run stopped.
    #[error("program {program} failed under scheme {scheme}: {source}")]
    Run {
        /// The program.
        program: String,
        /// The scheme.
        scheme: String,
        /// The reason.
        source: Box<RunError>,
    },
    /// A trace of the repository is wrong.
    #[error("the trace of {program} is wrong: {source}")]
    Trace {
        /// The program.
        program: String,
        /// The reason.
        source: TraceError,
    },
    /// A trace of the user's cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
}

impl ProcessorError {
    /// Returns whether the options are to blame, the trace among them, and no run.
    pub fn is_of_options(&self) -> bool {
        match self {
            ProcessorError::Unknown { .. }
            | ProcessorError::Unused { .. }
            | ProcessorError::Unsound { .. }
            | ProcessorError::Levels(_)
            | ProcessorError::SearchLevels(_)
            | ProcessorError::Memory(_)
            | ProcessorError::Cores { .. }
            | ProcessorError::Configuration { .. }
            | ProcessorError::Room { .. }
            | ProcessorError::File(_) => true,
            ProcessorError::Run { .. } | ProcessorError::Trace { .. } => false,
        }
    }
}
