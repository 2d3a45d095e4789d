//! The time that a path takes in DRAM: its blocks are read, and when the last one is there, written.

use lethe_core::words::Leaf;
use lethe_dram::{Block, Counts as Work, DramError, Energy, Layout, Memory, PlainLayout, SubtreeLayout};
use lethe_processor::units::Cycle;

/// The cycles of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathTimes {
    /// Its last block has been read.
    pub(crate) read: Cycle,
    /// Its last block has been written.
    pub(crate) written: Cycle,
}

/// DRAM with a tree in it.
pub(crate) struct PathTimer {
    memory: Memory,
    layout: TreeLayout,
    /// The processor's cycles in a cycle of DRAM.
    multiplier: u64,
    blocks: Vec<Block>,
}

/// The layout of a tree.
pub(crate) enum TreeLayout {
    Subtrees(SubtreeLayout),
    Plain(PlainLayout),
}

impl PathTimer {
    pub(crate) fn new(memory: Memory, layout: TreeLayout, multiplier: u64) -> Self {
        PathTimer { memory, layout, multiplier, blocks: Vec::new() }
    }

    /// Reads and writes the path to a leaf, not before `start`.
    pub(crate) fn path(&mut self, start: Cycle, leaf: Leaf) -> Result<PathTimes, DramError> {
        match &self.layout {
            TreeLayout::Subtrees(layout) => layout.path(leaf.0, &mut self.blocks),
            TreeLayout::Plain(layout) => layout.path(leaf.0, &mut self.blocks),
        }
        self.memory.advance(lethe_dram::Cycle(start.0.div_ceil(self.multiplier)));
        let reads = self.memory.read(&self.blocks)?;
        let read = self.memory.wait(reads);
        let writes = self.memory.write(&self.blocks)?;
        let written = self.memory.wait(writes);
        let cycle = |at: lethe_dram::Cycle| Cycle(at.0 * self.multiplier);
        Ok(PathTimes { read: cycle(read), written: cycle(written) })
    }

    /// The work of the memory up to a cycle, and its energy.
    pub(crate) fn work(&mut self, end: Cycle) -> (Work, Energy) {
        self.memory.advance(lethe_dram::Cycle(end.0.div_ceil(self.multiplier)));
        (self.memory.counts(), self.memory.energy())
    }
}
