//! The errors of recording.

use ameles_processor::trace::FileError;
use std::io;
use std::path::PathBuf;

/// The reason why a trace is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Programs are missing.
    #[error("missing on this machine: {}; on Debian and Ubuntu: apt-get install {}", programs.join(", "), packages.join(" "))]
    Missing {
        /// The names of the programs.
        programs: Vec<String>,
        /// The packages that have them.
        packages: Vec<String>,
    },
    /// There is no program of that name in the table.
    #[error("the table has no program {name:?}: choose from {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// All names.
        known: Vec<String>,
    },
    /// A file cannot be written or read.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: io::Error,
    },
    /// A program failed.
    #[error("`{command}` failed: {why}")]
    Failed {
        /// The command.
        command: String,
        /// The reason, with its output.
        why: String,
    },
    /// A program ended before the trace was complete.
    #[error("{name} ended after {found} of {wanted} misses: skip fewer instructions, or give it more work")]
    Short {
        /// The program.
        name: String,
        /// The number of recorded misses.
        found: u64,
        /// The number of requested misses.
        wanted: u64,
    },
    /// The trace cannot be read back.
    #[error(transparent)]
    Trace(#[from] FileError),
}
