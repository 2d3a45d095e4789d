//! The errors of the paging bench.

use super::configuration::Configuration;
use ameles_programs::WrongAnswer;
use ameles_seal::pages::PageCipher;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// The reason why the paging bench has no figures.
#[derive(Debug, thiserror::Error)]
pub enum PagingError {
    /// The solver is missing.
    #[error("picosat cannot be started: install it (Debian's package picosat)")]
    Picosat(#[source] io::Error),
    /// There is no folder to write formulas to.
    #[error("cannot create a temporary folder for the solver's formulas")]
    Folder(#[source] io::Error),
    /// A formula cannot be written.
    #[error("{} cannot be written", path.display())]
    Formula {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no file for the output of a program.
    #[error("cannot create a temporary file for the output of a program")]
    File(#[source] io::Error),
    /// The output of a program cannot be read back.
    #[error(transparent)]
    Output(io::Error),
    /// A program cannot be run.
    #[error(transparent)]
    Run(Box<dyn Error + Send + Sync>),
    /// A program left no figures of its measured faults.
    #[error("{paged} wrote no figures: {status}")]
    NoWindow {
        /// The run, and how it was paged.
        paged: PagedRun,
        /// The exit status.
        status: ExitStatus,
    },
    /// A program ended with fewer faults than are measured.
    #[error(
        "{paged} ended ({status}) after {found} of {faults} faults, not counting the first {warm_up_faults}"
    )]
    FewFaults {
        /// The run, and how it was paged.
        paged: PagedRun,
        /// The exit status.
        status: ExitStatus,
        /// The number of faults of the program.
        found: u64,
        /// The number of faults to measure.
        faults: u64,
        /// The number of faults before the measured ones.
        warm_up_faults: u64,
    },
    /// A program failed while its faults were measured.
    #[error("{paged} failed: {status}")]
    FailedInWindow {
        /// The run, and how it was paged.
        paged: PagedRun,
        /// The exit status.
        status: ExitStatus,
    },
    /// A whole run failed.
    #[error("{run} failed {how}: {status}")]
    Failed {
        /// The name of the run.
        run: &'static str,
        /// `paged` or `unpaged`.
        how: &'static str,
        /// The exit status.
        status: ExitStatus,
    },
    /// A whole run left no figures.
    #[error("{0} wrote no figures")]
    NoFigures(&'static str),
    /// A program gave a wrong answer.
    #[error(transparent)]
    Answer(#[from] WrongAnswer),
}

/// A run, and how it was paged.
#[derive(Clone, Copy, Debug)]
pub struct PagedRun {
    pub(super) run: &'static str,
    pub(super) configuration: Configuration,
    pub(super) cipher: PageCipher,
    pub(super) resident: u64,
}

impl fmt::Display for PagedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PagedRun { run, configuration, cipher, resident } = self;
        write!(f, "{run} paged with {configuration}, {cipher}, {resident} pages resident")
    }
}
