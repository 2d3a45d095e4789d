//! The interface between the bench and the code that starts programs, paged or not.

use super::fault_times::FaultTimes;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::PageCipher;
use std::error::Error;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// The paging of a program.
#[derive(Clone, Copy, Debug)]
pub struct Paging {
    /// The scheme.
    pub scheme: Scheme,
    /// K, if the scheme has one.
    pub k: u64,
    /// The cipher that seals pages.
    pub cipher: PageCipher,
    /// The number of pages that are resident.
    pub resident: u64,
    /// The maximum amount of untrusted memory, in bytes.
    pub untrusted_bytes: u64,
}

/// The faults of a program that are measured. After the last of them it is ended.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The number of faults before the measured ones.
    pub warm_up_faults: u64,
    /// The number of faults that are measured.
    pub faults: u64,
    /// True if ciphers and copies are timed one by one.
    pub metered: bool,
}

/// A paged program that has ended.
#[derive(Clone, Copy, Debug)]
pub struct RunEnd {
    /// The exit status.
    pub status: ExitStatus,
    /// The cost of its faults, unless its figures are missing or incomplete.
    pub measured: Option<FaultTimes>,
}

/// The reason why a program could not be run.
pub type Refusal = Box<dyn Error + Send + Sync>;

/// Starts programs and waits for their end.
pub trait Pager {
    /// Runs a program paged, to its own end or to the end of the window.
    ///
    /// # Errors
    /// The program cannot be started, or was not paged.
    fn run_paged(&self, command: Command, paging: Paging, window: Option<Window>) -> Result<RunEnd, Refusal>;

    /// Runs a program unpaged, and returns its exit status and its time.
    ///
    /// # Errors
    /// The program cannot be started.
    fn run_unpaged(&self, command: Command) -> Result<(ExitStatus, Duration), Refusal>;
}
