//! The machine: the processor, the controller and the memory, at work on a trace.

mod fault;
mod run;

use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::{Counts, PathKind};
use crate::hierarchy::Hierarchy;
use crate::memory_side::Want;
use crate::pace::Last;
use crate::path_side::{PathSide, Step};
use crate::path_timer::PathTimer;
use crate::pattern::{Pattern, Tree};
use crate::small_side::SmallSide;
use crate::tree::filled::{Contents, FilledTree};
use crate::tree::slots::Slots;
use fault::Faults;
use lethe_core::oram::OramError;
use lethe_core::words::{BlockId, Leaf, Level};
use lethe_dram::{Counts as Work, DramError, Energy};
use lethe_processor::cache::{Cache, CacheAccess};
use lethe_processor::processor::{Counts as ProcessorCounts, Processor, Shape};
use lethe_processor::trace::{Kind, Miss};
use lethe_processor::units::{Cycle, Line};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use run::Run;
use std::convert::Infallible;

/// The end of a run before its trace ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The trace asks for a line that the ORAM does not have.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownPath {
    /// The cycle at which it begins.
    pub start: Cycle,
    /// The cycle at which it has been written.
    pub end: Cycle,
    /// The tree that it is of.
    pub tree: Tree,
    /// The path.
    pub leaf: Leaf,
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

/// A machine without a program.
pub struct Machine {
    configuration: Configuration,
    memory: Hierarchy,
    timer: PathTimer,
    random: ChaCha8Rng,
    last: Last,
    pattern: Pattern,
    faults: Faults,
}

impl Machine {
    /// A machine whose tree has these contents. The same seed gives the same run.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn new(
        configuration: Configuration,
        contents: Contents,
        seed: u64,
    ) -> Result<Self, ConfigurationError> {
        let tree = FilledTree::draw(&configuration.oram, contents, seed)?;
        Self::over(configuration, tree, seed)
    }

    /// A machine over a tree that was drawn for its ORAM.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn over(
        configuration: Configuration,
        tree: FilledTree,
        seed: u64,
    ) -> Result<Self, ConfigurationError> {
        configuration.check()?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let memory = Hierarchy::over(&configuration, tree.into_parts(), &mut random)?;
        let timer = PathTimer::new(&configuration)?;
        let (last, faults) = (Last::default(), Faults::default());
        let pattern = Pattern::new(configuration.small_tree.as_ref().map_or(0, |small| small.paths));
        Ok(Machine { configuration, memory, timer, random, last, pattern, faults })
    }

    /// The share of the slots of each level of the main tree in untrusted memory that hold a block, and the first of those levels.
    pub fn utilisation(&self) -> (Level, Vec<f64>) {
        self.memory.main.store.look(|slots| (slots.top(), slots.utilisation()))
    }

    /// Blocks in the stash of the main tree now.
    pub fn stash_blocks(&self) -> usize {
        self.memory.main.tree().stash_blocks()
    }

    /// Bytes of the trees, and of all that is on the trusted side.
    pub fn bytes(&self) -> usize {
        let main = &self.memory.main;
        let small = self.memory.small.as_ref().map_or(0, SmallSide::bytes);
        main.store.look(Slots::bytes) + main.oram.trusted_bytes() + small
    }

    /// Takes a program's misses through the machine, and lets `watch` see each path. The first `warm_up` of them only fill the
    /// last-level cache, and a small tree if there is one, and take no time.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run<T: Iterator<Item = Miss>>(
        &mut self,
        mut trace: T,
        warm_up: u64,
        watch: impl FnMut(ShownPath),
    ) -> Result<Outcome, RunError> {
        let Configuration { processor, cache_bytes, cache_ways, delayed_remapping, .. } = self.configuration;
        let shape = Shape { gives_back: delayed_remapping, ..processor };
        let mut cache = Cache::new(cache_bytes, cache_ways).expect("the configuration was checked");
        for Miss { line, kind, .. } in trace.by_ref().take(warm_up as usize) {
            self.check(line)?;
            let CacheAccess { is_hit, victim } = cache.access(line, kind == Kind::Store);
            if self.memory.small.is_some() {
                let written = victim.filter(|victim| victim.is_dirty).map(|victim| victim.line);
                let missed = (!is_hit).then_some(line);
                written
                    .into_iter()
                    .chain(missed)
                    .try_for_each(|line| self.serve_untimed(line, Want::Access))?;
            }
        }
        if delayed_remapping {
            cache.lines().try_for_each(|(line, _)| self.serve_untimed(line, Want::TakeOut))?;
        }
        self.memory.main.counts = Counts::default();
        let begin = self.last.end;
        Run::new(self, Processor::new(shape, cache, trace), begin, watch).finish()
    }

    fn check(&self, line: Line) -> Result<BlockId, RunError> {
        let lines = self.configuration.oram.user_blocks;
        if line.0 < lines { Ok(BlockId(line.0)) } else { Err(RunError::Line { line: line.0, lines }) }
    }

    /// Serves a line that was wanted before a run begins, in no time.
    fn serve_untimed(&mut self, line: Line, want: Want) -> Result<(), RunError> {
        let block = self.check(line)?;
        loop {
            for tree in [Tree::Small, Tree::Main] {
                while self.memory.is_too_full(tree) {
                    self.memory.evict(tree)?;
                }
                while self.memory.leave(tree)?.is_some() {
                    self.memory.write_back(tree)?;
                }
            }
            let tree = self.memory.tree_of(block);
            match self.memory.step(block, want)? {
                Step::Answered => return Ok(()),
                Step::TooFull => {}
                Step::Path { kind, .. } => {
                    self.memory.write_back(tree)?;
                    if kind == PathKind::Data {
                        return Ok(());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
