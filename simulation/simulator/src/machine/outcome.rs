//! The result of a run, and what it shows.

use crate::counts::Counts;
use crate::pattern::Tree;
use crate::tree::store::MovedSlots;
use ameles_core::oram::OramError;
use ameles_core::types::Leaf;
use ameles_dram::{Counts as Work, DramError, Energy};
use ameles_processor::processor::Counts as ProcessorCounts;
use ameles_processor::units::Cycle;
use std::convert::Infallible;

/// The reason for the end of a run before its trace.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The trace reads a line that the ORAM does not have.
    #[error("line {line} of the trace lies beyond the {lines} lines of memory: map its pages first")]
    Line {
        /// The line.
        line: u64,
        /// Lines of the memory.
        lines: u64,
    },
    /// The ORAM failed: with room in the stash it does not.
    #[error("the ORAM failed: {0}")]
    Oram(#[from] OramError<Infallible>),
    /// The memory failed.
    #[error(transparent)]
    Memory(#[from] DramError),
}

/// A path as the watcher of the memory's bus sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisiblePath {
    /// The cycle at which it begins.
    pub start: Cycle,
    /// The cycle at which the next path may begin: it has been written, or read if the next one is read meanwhile.
    pub end: Cycle,
    /// The tree that it is of.
    pub tree: Tree,
    /// The path.
    pub leaf: Leaf,
    /// True if it is an eviction that moves other blocks than an access.
    pub evicts: bool,
    /// The slots that were moved, if not those of the whole path: in Ring ORAM.
    pub slots: Option<Box<MovedSlots>>,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The cycle at which the last instruction retired.
    pub cycles: Cycle,
    /// The paths, by kind.
    pub counts: Counts,
    /// The processor's counts.
    pub processor: ProcessorCounts,
    /// The work of the memory.
    pub work: Work,
    /// Its energy.
    pub energy: Energy,
}
