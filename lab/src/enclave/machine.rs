//! The interface between the bench and the code that starts machines.

use super::configuration::Configuration;
use super::fault_cost::FaultCost;
use ameles_programs::Run;
use ameles_seal::pages::PageCipher;
use std::error::Error;

/// The setting that all configurations of a table have in common.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The cipher that seals pages.
    pub cipher: PageCipher,
    /// The number of pages that are resident.
    pub resident: u32,
    /// Untrusted memory for sealed pages, in bytes.
    pub untrusted_bytes: u64,
    /// True if the programs are of their small size.
    pub small: bool,
}

/// The faults of a program that are counted. After the last of them it is ended.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The number of faults before the counted ones.
    pub warm_up_faults: u64,
    /// The number of faults that are counted.
    pub faults: u64,
}

/// A program to be run, and how.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The program. Its memory was filled before it began.
    pub run: &'static Run,
    /// The configuration.
    pub configuration: Configuration,
    /// The setting.
    pub setting: Setting,
    /// The window.
    pub window: Window,
}

/// The measure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Instructions, by a seed that is always the same. Harts take turns.
    Instructions,
    /// The wall clock. Harts run at the same time.
    Wall,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub enum RunOutcome {
    /// The run reached the end of its window.
    Counted(FaultCost),
    /// The program ended before that.
    Ended,
    /// The program does not fit, for this reason.
    TooLarge(String),
}

/// The reason why a program could not be run.
pub type Refusal = Box<dyn Error + Send + Sync>;

/// Starts machines and waits for their end.
pub trait Machine: Sync {
    /// Runs a program to the end of its window.
    ///
    /// # Errors
    /// The machine cannot be started; the program failed.
    fn run(&self, task: &Task, clock: Clock) -> Result<RunOutcome, Refusal>;
}
