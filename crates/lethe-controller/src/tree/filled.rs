//! A tree with its first contents, which several machines can begin with.

use super::slots::Slots;
use super::steady_state::{self, History, SteadyState};
use crate::configuration::{ConfigurationError, OramConfiguration};
use lethe_core::words::{BlockId, Leaf, Level};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The state of a tree before the first access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Nothing was ever written.
    Empty,
    /// All blocks are there, after such a history.
    Steady(History),
}

/// A tree with its contents: of 25 levels it takes 1.3 GiB.
#[derive(Clone, Debug)]
pub struct FilledTree {
    pub(crate) slots: Slots,
    pub(crate) positions: Vec<u32>,
    pub(crate) trusted: Vec<(BlockId, Leaf)>,
}

impl FilledTree {
    /// Draws a tree for an ORAM. The same seed gives the same tree.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn draw(oram: &OramConfiguration, contents: Contents, seed: u64) -> Result<Self, ConfigurationError> {
        let parameters = oram.parameters()?;
        let space = parameters.address_space();
        let top = oram.top_levels;
        let mut slots = Slots::new(Level(top), &parameters.tree.blocks()[top as usize..]);
        let SteadyState { positions, trusted } = match contents {
            Contents::Empty => {
                SteadyState { positions: vec![0; space.blocks() as usize], trusted: Vec::new() }
            }
            Contents::Steady(history) => {
                let mut random = ChaCha8Rng::seed_from_u64(!seed);
                steady_state::fill(&mut slots, &space, history, &mut random)
            }
        };
        Ok(FilledTree { slots, positions, trusted })
    }
}
