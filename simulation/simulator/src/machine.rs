//! The machine: the processor, the controller and the memory, at work on a trace.

mod fork;
mod injected_bug;
mod outcome;
mod run;
mod state;

pub use outcome::{Checkpoint, Outcome, RunError, VisiblePath};

use crate::configuration::Configuration;
use crate::configuration_error::ConfigurationError;
use crate::counts::{Counts, PathKind};
use crate::main_oram::AccessKind;
use crate::path_timer::PathTimer;
use crate::pattern::Tree;
use crate::small_oram::SmallOram;
use crate::tree::filled::{Contents, FilledTree, TreeCopy};
use crate::tree::slots::Slots;
use crate::tree_backend::Step;
use ameles_core::types::Level;
use ameles_processor::cache::CacheAccess;
use ameles_processor::processor::{Processor, Shape};
use ameles_processor::trace::{Kind, Miss};
use ameles_processor::units::Line;
use run::Run;
use state::State;

/// A machine without a program.
pub struct Machine {
    state: State,
}

impl Machine {
    /// Checks that the configuration is valid, and that its memory has room for its trees.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn check(configuration: &Configuration) -> Result<(), ConfigurationError> {
        State::check_configuration(configuration)
    }

    /// A configuration with as many times the rows of memory, a power of two up to 16, as its trees need.
    pub fn with_room(mut configuration: Configuration) -> Configuration {
        let rows = configuration.memory.geometry.rows;
        for more in 0..=4 {
            configuration.memory.geometry.rows = rows << more;
            if PathTimer::new(&configuration).is_ok() {
                break;
            }
        }
        configuration
    }

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
        Self::over(configuration, tree.into_copy(), seed)
    }

    /// A machine over a copy of a tree that was drawn for its ORAM.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn over(configuration: Configuration, tree: TreeCopy, seed: u64) -> Result<Self, ConfigurationError> {
        Ok(Machine { state: State::over(configuration, tree, seed)? })
    }

    /// Returns the copy of the tree, as it is now.
    pub fn into_tree(self) -> TreeCopy {
        TreeCopy::of_parts(self.state.memory.main.into_parts())
    }

    /// The share of the slots of each level of the main tree in untrusted memory that hold a block, and the first of
    /// those levels.
    pub fn utilisation(&self) -> (Level, Vec<f64>) {
        self.state.memory.main.store.with_slots(|slots| (slots.top(), slots.utilisation()))
    }

    /// Blocks in the stash of the main tree now.
    pub fn stash_blocks(&self) -> usize {
        self.state.memory.main.oram.tree().stash_blocks()
    }

    /// Bytes of the trees, and of all that is on the trusted side.
    pub fn bytes(&self) -> usize {
        let main = &self.state.memory.main;
        let small = self.state.memory.small.as_ref().map_or(0, SmallOram::bytes);
        main.store.with_slots(Slots::bytes) + main.oram.trusted_bytes() + small
    }

    /// Takes a program's misses through the machine, and lets `observer` see each path. The first `warm_up` of them
    /// only fill the last-level cache, and a small tree if there is one, and take no time.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run<T: Iterator<Item = Miss>>(
        &mut self,
        trace: T,
        warm_up: u64,
        observer: impl FnMut(VisiblePath),
    ) -> Result<Outcome, RunError> {
        self.run_with_checkpoints(trace, warm_up, &[], observer)
    }

    /// The same, with [`Outcome::checkpoints`] after these numbers of misses, which increase.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run_with_checkpoints<T: Iterator<Item = Miss>>(
        &mut self,
        trace: T,
        warm_up: u64,
        checkpoints: &[u64],
        observer: impl FnMut(VisiblePath),
    ) -> Result<Outcome, RunError> {
        let Configuration { processor, delayed_remapping, block_lines, .. } = self.state.configuration;
        let shape = Shape { evicts_clean_lines: delayed_remapping, ..processor };
        let mut cache = self.state.configuration.cache().expect("the configuration was checked");
        // The cache has the lines of a block as one.
        let mut trace = trace.map(|miss| Miss { line: Line(miss.line.0 / block_lines), ..miss });
        for Miss { line, kind, .. } in trace.by_ref().take(warm_up as usize) {
            self.state.check(line)?;
            let CacheAccess { is_hit, victim } = cache.access(line, kind == Kind::Store);
            if self.state.memory.warms_up() {
                let written = victim.filter(|victim| victim.is_dirty).map(|victim| victim.line);
                let missed = (!is_hit).then_some(line);
                written
                    .into_iter()
                    .chain(missed)
                    .try_for_each(|line| self.serve_untimed(line, AccessKind::Access))?;
            }
        }
        if delayed_remapping {
            cache.lines().try_for_each(|(line, _)| self.serve_untimed(line, AccessKind::TakeOut))?;
        }
        self.state.memory.main.counts = Counts::default();
        self.state.memory.main.store.take_moved();
        Run::new(&mut self.state, Processor::new(shape, cache, trace), checkpoints, observer).run_to_end()
    }

    /// Serves a line that was used before the run begins. It takes no simulated time.
    fn serve_untimed(&mut self, line: Line, access_kind: AccessKind) -> Result<(), RunError> {
        let block = self.state.check(line)?;
        loop {
            for tree in [Tree::Small, Tree::Main] {
                while self.state.memory.must_evict(tree) {
                    self.state.memory.evict(tree)?;
                }
                while self.state.memory.step_leaving(tree)?.is_some() {
                    self.state.memory.write_back(tree)?;
                }
            }
            let tree = self.state.memory.tree_of(block);
            match self.state.memory.step(block, access_kind)? {
                Step::Answered => return Ok(()),
                Step::TooFull => {}
                Step::Path { kind, .. } => {
                    self.state.memory.write_back(tree)?;
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
