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
        /// The number of lines of the memory.
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
    /// The cycle at which the next path may begin: when this path has been written, or if paths overlap, when it has
    /// been read.
    pub end: Cycle,
    /// The tree of the path.
    pub tree: Tree,
    /// The path.
    pub leaf: Leaf,
    /// True if it is an eviction that moves other blocks than an access.
    pub evicts: bool,
    /// In Ring ORAM, the slots that were moved. `None` if all slots of the path were moved.
    pub slots: Option<Box<MovedSlots>>,
}

/// The work of a run until it had fetched a number of misses.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The number of misses of the trace, without its warm-up.
    pub misses: u64,
    /// The cycle at which the last path before that ended.
    pub cycles: Cycle,
    /// The paths until then, by kind.
    pub counts: Counts,
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
    /// The outcome's energy.
    pub energy: Energy,
    /// The checkpoints that the trace reached, in their order.
    pub checkpoints: Vec<Checkpoint>,
}
