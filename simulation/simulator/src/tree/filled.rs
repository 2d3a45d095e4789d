//! A tree with its first contents, which several machines can begin with.

use super::filled_ring;
use super::huge_pages;
use super::settle::settle;
use super::slots::Slots;
use super::steady_state::{self, EvictionModel, History, SteadyState};
use crate::configuration_error::ConfigurationError;
use crate::main_oram::{MainOram, TreeParts};
use crate::oram_configuration::OramConfiguration;
use ameles_core::position_map::flat::Positions;
use ameles_core::schemes::freecursive::BackendParameters;
use ameles_core::types::Level;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The maximum number of paths of random accesses after a state was drawn. `ameles lab processor --part over-time
/// --start settled` shows that the share of background evictions no longer changes after them.
const MAX_SETTLING_PATHS: u64 = 1 << 18;

/// The state of a tree before the first access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The tree is empty: nothing was ever written.
    Empty,
    /// All blocks are in the tree, where this history of accesses leaves them.
    Steady(History),
}

/// A tree with its contents: of 25 levels it takes 1.3 GiB.
pub struct FilledTree(TreeParts);

/// A copy of a tree for one machine after the other. The changes of a machine are reset before the next begins, because
/// a copy of gigabytes takes as long as a short run.
pub struct TreeCopy(TreeParts);

impl FilledTree {
    /// Draws a tree for an ORAM, and lets what exceeds the trusted side sink. The same seed gives the same tree. Blocks
    /// of a Ring ORAM are as deep as there is room, for any history. Its buckets are worn as by random accesses.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn draw(oram: &OramConfiguration, contents: Contents, seed: u64) -> Result<Self, ConfigurationError> {
        Self::draw_in(None, oram, contents, seed)
    }

    /// Draws another tree, in the memory of this one as far as it suffices.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn draw_over(
        self,
        oram: &OramConfiguration,
        contents: Contents,
        seed: u64,
    ) -> Result<Self, ConfigurationError> {
        Self::draw_in(Some(self.0), oram, contents, seed)
    }

    fn draw_in(
        used: Option<TreeParts>,
        oram: &OramConfiguration,
        contents: Contents,
        seed: u64,
    ) -> Result<Self, ConfigurationError> {
        let parameters = oram.parameters()?;
        if let BackendParameters::Ring(ring) = &parameters.tree {
            return Ok(FilledTree(filled_ring::draw(ring, contents != Contents::Empty, seed)));
        }
        let space = parameters.address_space();
        let (top, sizes) = (Level(oram.top_levels), oram.blocks(&parameters.tree));
        let sizes = &sizes[top.0 as usize..];
        let (mut slots, memory) = match used {
            Some(used) => (used.slots.into_empty(top, sizes), used.positions.into_words()),
            None => (Slots::new(top, sizes), Vec::new()),
        };
        let mut random = ChaCha8Rng::seed_from_u64(!seed);
        let SteadyState { positions, trusted } = match contents {
            Contents::Empty => {
                SteadyState { positions: vec![0; space.blocks() as usize], trusted: Vec::new() }
            }
            Contents::Steady(history) => {
                let history = (history, EvictionModel::of(oram.scheme));
                steady_state::fill(&mut slots, &space, history, memory, &mut random)
            }
        };
        let positions = Positions::from_words(positions);
        let memory = MainOram::over(oram, TreeParts { slots, positions, trusted, ring: None }, &mut random)?;
        let parts = memory.into_parts();
        Ok(FilledTree(match contents {
            Contents::Steady(History::Random) => {
                let paths = MAX_SETTLING_PATHS.min(2 << oram.levels);
                settle(oram, parts, paths, &mut random)?
            }
            Contents::Steady(History::Filled | History::Packed) | Contents::Empty => parts,
        }))
    }

    /// Blocks that begin on the trusted side.
    pub fn trusted_blocks(&self) -> usize {
        self.0.trusted.len()
    }

    /// The share of the slots of each level in untrusted memory that hold a block, and the first of those levels.
    pub fn utilisation(&self) -> (Level, Vec<f64>) {
        (self.0.slots.top(), self.0.slots.utilisation())
    }

    /// A copy.
    pub fn copy(&self) -> TreeCopy {
        let TreeParts { slots, positions, .. } = &self.0;
        self.tracked_copy(slots.clone(), huge_pages::copy(positions.words()))
    }

    /// A copy in the memory of another one: new memory of gigabytes takes the kernel longer than the copying.
    pub fn copy_over(&self, used: TreeCopy) -> TreeCopy {
        let TreeParts { mut slots, positions, .. } = used.0;
        slots.copy_from(&self.0.slots);
        let mut words = positions.into_words();
        huge_pages::copy_into(&mut words, self.0.positions.words());
        self.tracked_copy(slots, words)
    }

    /// A copy whose slots and positions are copied.
    fn tracked_copy(&self, mut slots: Slots, words: Vec<u32>) -> TreeCopy {
        let (mut positions, trusted) = (Positions::from_words(words), self.0.trusted.clone());
        slots.track_written();
        positions.track_changes();
        TreeCopy(TreeParts { slots, positions, trusted, ring: self.0.ring.clone() })
    }

    /// The tree itself as the only copy, for one machine.
    pub fn into_copy(self) -> TreeCopy {
        TreeCopy(self.0)
    }
}

impl TreeCopy {
    /// The copy that a machine leaves.
    pub(crate) fn of_parts(parts: TreeParts) -> Self {
        TreeCopy(parts)
    }

    /// Makes the copy equal to its original again.
    pub fn reset(&mut self, original: &FilledTree) {
        self.0.slots.reset(&original.0.slots);
        self.0.positions.reset(&original.0.positions);
        self.0.trusted.clone_from(&original.0.trusted);
        self.0.ring.clone_from(&original.0.ring);
    }

    pub(crate) fn into_parts(self) -> TreeParts {
        self.0
    }
}
