//! String ORAM's proactive bank: Cao, Zhang, Lu and others, "Streamline Ring ORAM Accesses through Spatial and Temporal
//! Optimization", HPCA 2021. Its abstract says that the time of row misses overlaps with the previous transaction. How
//! it is done here is ours:
//!
//! ```text
//! to move the blocks of a transaction (the reads of an access, or the reads or the writes of evictions):
//!   submit them when the blocks of the transaction before have been moved
//!   until they are moved: open the rows of the next transaction, in banks that none of these blocks is in
//! ```
//!
//! So the next transaction must be known. Here all accesses are there from the beginning, without a processor. A
//! controller with a rate knows its next path as well, for it may be a dummy. The rows are opened by rule 4d of
//! [`ameles_dram::scheduler`].
//!
//! **What the trace shows**: the same transactions in the same order as without it. A row is opened earlier, for a path
//! that is uniform and was not shown before. When it is opened follows from the paths alone.

use crate::configuration_error::ConfigurationError;
use crate::machine::RunError;
use crate::oram_configuration::OramConfiguration;
use crate::palermo::VisitedTree;
use crate::tree_scheme::{Headers, TreeScheme};
use ameles_core::schemes::freecursive::TrustedHits;
use ameles_core::types::BlockId;
use ameles_dram::{Cycle, Direction, Memory, Specification, Stepped};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The options of a Ring ORAM with Z = A = 8 and S = 12.
#[derive(Clone, Debug)]
pub struct ProactiveConfiguration {
    /// The number of levels of the tree.
    pub levels: u32,
    /// The number of levels on the trusted side.
    pub top_levels: u32,
    /// The number of slots in a bucket: 20, or fewer with String ORAM's compact buckets.
    pub slots: u32,
    /// True if rows of the next transaction are opened.
    pub opens_ahead: bool,
    /// The memory.
    pub memory: Specification,
}

impl ProactiveConfiguration {
    /// Blocks of the user's.
    pub fn blocks(&self) -> u64 {
        2 << self.levels
    }

    /// Positions and metadata are on the trusted side.
    fn oram(&self) -> OramConfiguration {
        OramConfiguration {
            scheme: TreeScheme::Ring {
                eviction_rate: 8,
                reads: 12,
                slots: self.slots,
                metadata: Headers::OnChip,
            },
            levels: self.levels,
            blocks_per_bucket: 8,
            sizes: Vec::new(),
            user_blocks: self.blocks(),
            top_levels: self.top_levels,
            hits: TrustedHits::ReadThePath,
            top_ways: 1,
            stash: 400,
            labels: 8,
            trusted_positions: self.blocks(),
            look_aside: 1,
            look_aside_ways: 1,
        }
    }
}

/// The result of some accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProactiveOutcome {
    /// The number of cycles of the memory.
    pub cycles: u64,
    /// The number of blocks that it read and wrote.
    pub blocks: u64,
    /// The number of rows that it opened.
    pub activates: u64,
}

/// A Ring ORAM, and the memory that it is in.
pub struct ProactiveRing {
    opens_ahead: bool,
    tree: VisitedTree,
    memory: Memory<Stepped>,
}

impl ProactiveRing {
    /// A tree that random accesses have settled. The same seed gives the same.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn new(configuration: &ProactiveConfiguration, seed: u64) -> Result<Self, ConfigurationError> {
        let geometry = &configuration.memory.geometry;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        Ok(ProactiveRing {
            opens_ahead: configuration.opens_ahead,
            tree: VisitedTree::new(&configuration.oram(), 0, geometry, &mut random)?,
            memory: Memory::with_observer(&configuration.memory, ())?,
        })
    }

    /// Accesses blocks one after the other.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn access(&mut self, blocks: impl Iterator<Item = u64>) -> Result<ProactiveOutcome, RunError> {
        let mut transactions = Vec::new();
        for block in blocks {
            for step in self.tree.visit(Some(BlockId(block)))?.steps {
                transactions.push((Direction::Read, step.reads));
                transactions.push((Direction::Write, step.writes));
            }
        }
        transactions.retain(|(_, blocks)| !blocks.is_empty());
        for (nth, (direction, blocks)) in transactions.iter().enumerate() {
            let batch = match direction {
                Direction::Read => self.memory.read(blocks)?,
                Direction::Write => self.memory.write(blocks)?,
            };
            if let (true, Some((_, next))) = (self.opens_ahead, transactions.get(nth + 1)) {
                self.memory.open_ahead(next)?;
            }
            self.memory.wait(batch);
        }
        let Cycle(cycles) = self.memory.finish();
        let counts = self.memory.counts();
        Ok(ProactiveOutcome { cycles, blocks: counts.reads + counts.writes, activates: counts.activates })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_opened_ahead_save_time_and_move_the_same_blocks() {
        for (channels, slots) in [(1, 20), (4, 20), (4, 12)] {
            let mut memory = Specification::usimm().with_super_rows();
            memory.geometry.channels = channels;
            let outcome = |opens_ahead| {
                let configuration = ProactiveConfiguration {
                    levels: 12,
                    top_levels: 4,
                    slots,
                    opens_ahead,
                    memory: memory.clone(),
                };
                let blocks = (0..300).map(|nth| nth * 7919 % configuration.blocks());
                ProactiveRing::new(&configuration, 1).unwrap().access(blocks).unwrap()
            };
            let (in_turn, ahead) = (outcome(false), outcome(true));
            assert_eq!(in_turn.blocks, ahead.blocks);
            let share = ahead.cycles as f64 / in_turn.cycles as f64;
            assert!((0.5..0.98).contains(&share), "{share} with {channels} channels and {slots} slots");
        }
    }
}
