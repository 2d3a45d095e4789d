//! Palermo: Ye, Xia, Chen, Chen, Yuan, Deng, Kasikci, Mudge, Talati, "Palermo: Improving the Performance of Oblivious
//! Memory using Protocol-Hardware Co-Design", HPCA 2025 (arXiv 2411.05400). Its abstract says that large portions of an
//! ORAM's memory operations may overlap, within a request and between several. Which ones is stated in the authors'
//! simulator (`Linestro/Palermo-ORAM`, branch `main`, `oram_task_create` in `src/Memory.h`).
//!
//! The data and two levels of PosMaps have a tree of Ring ORAM each. A request visits them from the smallest on:
//!
//! ```text
//! to visit a tree for a block (or for none, in a dummy):
//!  1  read the metadata of the buckets on its path                 (if they are in memory)
//!  2  read a slot of each bucket, and Z of each bucket that was read S times;  write those buckets
//!  3  after every A visits: read the metadata of a path's buckets  (if they are in memory)
//!  4                        read Z slots of each of its buckets;  write them
//! ```
//!
//! A step begins when the blocks of the previous step have arrived. Three more rules keep requests apart:
//!
//! - A request visits the next tree when its block of this tree has arrived.
//! - A request visits a tree when the previous one has done step 1 there. If the previous request writes buckets, it
//!   also waits until the blocks to be written have arrived.
//! - N requests are in flight, the oldest that is not finished among them.
//!
//! So requests visit each tree in their order. No one waits for a write. A read of a block that is still to be written
//! gets it from the queue of writes.
//!
//! **Two requests of one block**: the second reads another path. The block has a new leaf as soon as the first request
//! begins its visit. By the second rule the block is in the stash when the second request needs it. So each request
//! reads one path of each tree, which was drawn only for this request.
//!
//! **What the trace shows**, if N requests are always in flight, dummies included: each request reads three paths,
//! which are uniform and independent. The cycle of each step follows from the rules above and from the memory, which
//! sees only these paths. A dummy is like any other request. If there are no dummies, the number of requests in flight
//! shows how many wait, and a gap shows that none does.
//!
//! **Costs** on the trusted side: a stash for each tree, and registers for N requests.

mod configuration;
mod schedule;
mod tree;

pub use configuration::{Overlap, PalermoConfiguration, TREES};
pub use schedule::VisibleStep;
pub(crate) use tree::VisitedTree;

use crate::configuration_error::ConfigurationError;
use crate::machine::RunError;
use ameles_core::types::BlockId;
use ameles_dram::{Cycle, Memory};
use configuration::LABELS;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use schedule::Schedule;

/// The result of some requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PalermoOutcome {
    /// The number of cycles of the memory until all was read and written.
    pub cycles: u64,
    /// The number of requests, dummies included.
    pub requests: u64,
    /// The number of blocks that the memory read and wrote.
    pub blocks: u64,
}

/// Three trees, and the memory that they are in.
pub struct Palermo {
    configuration: PalermoConfiguration,
    trees: [VisitedTree; TREES],
    memory: Memory,
    #[cfg(test)]
    bug: Option<tests::InjectedBug>,
    #[cfg(test)]
    last: [Option<ameles_core::schemes::freecursive::Reservation>; TREES],
}

impl Palermo {
    /// Full trees, whose buckets are worn as by random requests. The same seed gives the same.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn new(configuration: PalermoConfiguration, seed: u64) -> Result<Self, ConfigurationError> {
        configuration.check()?;
        let memory = Memory::new(&configuration.memory)?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut first = 0;
        let mut trees = Vec::with_capacity(TREES);
        for nth in 0..TREES {
            let geometry = &configuration.memory.geometry;
            let tree = VisitedTree::new(&configuration.tree(nth), first, geometry, &mut random)?;
            first = tree.end().next_multiple_of(geometry.super_row_blocks()) + geometry.super_row_blocks();
            trees.push(tree);
        }
        let trees = trees.try_into().unwrap_or_else(|_| unreachable!("three were pushed"));
        Ok(Palermo {
            configuration,
            trees,
            memory,
            #[cfg(test)]
            bug: None,
            #[cfg(test)]
            last: [None, None, None],
        })
    }

    /// Serves requests for blocks of the data, `None` for a dummy, which are all there from the beginning. Lets
    /// `observer` see each step when its blocks have arrived.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn serve(
        &mut self,
        mut requests: impl Iterator<Item = Option<u64>>,
        observer: impl FnMut(VisibleStep),
    ) -> Result<PalermoOutcome, RunError> {
        let (begin, before) = (self.memory.now(), self.moved_blocks());
        let mut schedule = Schedule::new(&self.configuration, observer);
        loop {
            while schedule.has_room()
                && let Some(block) = requests.next()
            {
                schedule.admit(self.visit_trees(block)?);
            }
            if schedule.is_empty() {
                break;
            }
            if !schedule.proceed(&mut self.memory)? {
                self.memory.advance(Cycle(self.memory.now().0 + 1));
            }
        }
        let requests = schedule.requests();
        let cycles = self.memory.finish().0 - begin.0;
        Ok(PalermoOutcome { cycles, requests, blocks: self.moved_blocks() - before })
    }

    /// Blocks that the memory read and wrote so far.
    fn moved_blocks(&mut self) -> u64 {
        let counts = self.memory.counts();
        (counts.reads + counts.writes) / u64::from(self.configuration.memory.geometry.bursts)
    }

    /// The visits of a request to the trees, whose state is then as after them.
    fn visit_trees(&mut self, block: Option<u64>) -> Result<[tree::Visit; TREES], RunError> {
        let blocks = self.configuration.blocks();
        if let Some(line) = block.filter(|block| *block >= blocks) {
            return Err(RunError::Line { line, lines: blocks });
        }
        let mut visits = Vec::with_capacity(TREES);
        for (nth, tree) in self.trees.iter_mut().enumerate() {
            let below = LABELS.pow((TREES - 1 - nth) as u32);
            let block = block.map(|block| BlockId(block / below));
            #[cfg(test)]
            let visit = tree.faulty_visit(block, self.bug, &mut self.last[nth])?;
            #[cfg(not(test))]
            let visit = tree.visit(block)?;
            visits.push(visit);
        }
        Ok(visits.try_into().unwrap_or_else(|_| unreachable!("three were pushed")))
    }
}

#[cfg(test)]
mod tests;
