//! The parts of a machine without a program.

use super::injected_bug::InjectedBugs;
use super::outcome::RunError;
use crate::configuration::Configuration;
use crate::configuration_error::ConfigurationError;
use crate::hierarchy::Hierarchy;
use crate::pace::LastPath;
use crate::path_timer::PathTimer;
use crate::path_variant::PathVariant;
use crate::pattern::Pattern;
use crate::tree::filled::TreeCopy;
use ameles_core::types::BlockId;
use ameles_processor::units::Line;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The controller and the memory, between two programs.
pub(super) struct State {
    pub(super) configuration: Configuration,
    pub(super) memory: Hierarchy,
    pub(super) timer: PathTimer,
    pub(super) random: ChaCha8Rng,
    pub(super) last: LastPath,
    pub(super) pattern: Pattern,
    pub(super) bugs: InjectedBugs,
}

impl State {
    /// The state over a tree that was drawn for its ORAM.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub(super) fn over(
        configuration: Configuration,
        tree: TreeCopy,
        seed: u64,
    ) -> Result<Self, ConfigurationError> {
        configuration.check()?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let memory = Hierarchy::over(&configuration, tree.into_parts(), &mut random)?;
        match configuration.variant {
            PathVariant::Plain => {}
            PathVariant::ForkPath(_) => memory.main.oram.tree().merge_paths(),
            PathVariant::Siblings => memory.main.oram.tree().evict_to_siblings(),
        }
        let timer = PathTimer::new(&configuration)?;
        let (last, bugs) = (LastPath::default(), InjectedBugs::default());
        let pattern = Pattern::new(configuration.small_tree.as_ref().map_or(0, |small| small.paths));
        Ok(State { configuration, memory, timer, random, last, pattern, bugs })
    }

    /// Checks that the configuration is valid.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub(super) fn check_configuration(configuration: &Configuration) -> Result<(), ConfigurationError> {
        configuration.check()?;
        PathTimer::new(configuration).map(drop)
    }

    /// The block of a line of the cache.
    ///
    /// # Errors
    /// [`RunError::Line`].
    pub(super) fn check(&self, line: Line) -> Result<BlockId, RunError> {
        let Configuration { oram, block_lines, .. } = &self.configuration;
        if line.0 < oram.user_blocks {
            return Ok(BlockId(line.0));
        }
        Err(RunError::Line { line: line.0 * block_lines, lines: oram.user_blocks * block_lines })
    }
}
