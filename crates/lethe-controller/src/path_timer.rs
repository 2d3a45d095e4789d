//! The time that a path takes in DRAM: its blocks are read, and when the last one is there, those are written that change.

use crate::configuration::{Configuration, ConfigurationError};
use crate::pattern::Tree;
use crate::tree_scheme::{Headers, TreeScheme};
use lethe_core::words::Leaf;
use lethe_dram::{
    Block, Counts as Work, DramError, Energy, Geometry, Layout, Memory, PlainLayout, SubtreeLayout,
};
use lethe_processor::units::Cycle;

/// The cycles of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathTimes {
    /// Its last block has been read.
    pub(crate) read: Cycle,
    /// Its last block has been written.
    pub(crate) written: Cycle,
}

/// DRAM with a tree in it, or two.
pub(crate) struct PathTimer {
    memory: Memory,
    main: Region,
    small: Option<Region>,
    /// The processor's cycles in a cycle of DRAM.
    multiplier: u64,
    /// The blocks of a path that an access to the main tree writes.
    written: Written,
    blocks: Vec<Block>,
    changed: Vec<Block>,
}

/// The blocks of a path that an access writes.
#[derive(Clone, Copy)]
enum Written {
    All,
    /// The first one of each bucket of so many.
    Firsts(usize),
    None,
}

/// A tree in the memory, from its first block on.
struct Region {
    first: u64,
    layout: TreeLayout,
}

/// The layout of a tree.
enum TreeLayout {
    Subtrees(SubtreeLayout),
    Plain(PlainLayout),
}

impl Region {
    /// A tree from block `first` on, with its slots by level, none on the `top` levels.
    fn new(
        first: u64,
        (slots, top): (&[u32], u32),
        subtree_levels: Option<usize>,
        geometry: &Geometry,
    ) -> Result<Self, DramError> {
        let layout = match subtree_levels {
            Some(height) => TreeLayout::Subtrees(SubtreeLayout::new(slots, top as usize, height, geometry)?),
            None => TreeLayout::Plain(PlainLayout::new(slots, geometry)?),
        };
        let region = Region { first, layout };
        let (needed, room) = (region.end(), geometry.blocks());
        if needed > room {
            let why = format!("all trees together need {needed} blocks, and the memory has {room}");
            return Err(DramError::Layout(why));
        }
        Ok(region)
    }

    /// The block behind its last one.
    fn end(&self) -> u64 {
        self.first
            + match &self.layout {
                TreeLayout::Subtrees(layout) => layout.blocks(),
                TreeLayout::Plain(layout) => layout.blocks(),
            }
    }

    fn path(&self, leaf: Leaf, blocks: &mut Vec<Block>) {
        match &self.layout {
            TreeLayout::Subtrees(layout) => layout.path(leaf.0, blocks),
            TreeLayout::Plain(layout) => layout.path(leaf.0, blocks),
        }
        blocks.iter_mut().for_each(|block| block.0 += self.first);
    }
}

impl PathTimer {
    /// The memory of a configuration. The small tree stands behind the main one, at the beginning of a super-row, and one is left
    /// out between.
    pub(crate) fn new(configuration: &Configuration) -> Result<Self, ConfigurationError> {
        let Configuration { memory, oram, small_tree, subtree_levels, .. } = configuration;
        let geometry = &memory.geometry;
        let main = Region::new(0, (&oram.slots()?, oram.top_levels), *subtree_levels, geometry)?;
        let super_row = geometry.super_row_blocks();
        let first = main.end().next_multiple_of(super_row) + super_row;
        let small = match small_tree {
            Some(small) => {
                let slots = (&small.slots()?[..], small.top_levels);
                Some(Region::new(first, slots, *subtree_levels, geometry)?)
            }
            None => None,
        };
        let (memory, multiplier) = (Memory::new(memory)?, configuration.multiplier());
        let written = match oram.scheme {
            TreeScheme::Path => Written::All,
            TreeScheme::Raw { headers: Headers::InMemory, .. } => {
                Written::Firsts(oram.blocks_per_bucket as usize + 1)
            }
            TreeScheme::Raw { headers: Headers::OnChip, .. } => Written::None,
        };
        let (blocks, changed) = (Vec::new(), Vec::new());
        Ok(PathTimer { memory, main, small, multiplier, written, blocks, changed })
    }

    /// Reads the path of a tree to a leaf, not before `start`, and writes of it what an access or an eviction changes.
    pub(crate) fn path(
        &mut self,
        start: Cycle,
        tree: Tree,
        (leaf, is_eviction): (Leaf, bool),
    ) -> Result<PathTimes, DramError> {
        let (region, written) = match (tree, &self.small) {
            (Tree::Small, Some(small)) => (small, Written::All),
            _ => (&self.main, if is_eviction { Written::All } else { self.written }),
        };
        region.path(leaf, &mut self.blocks);
        self.memory.advance(lethe_dram::Cycle(start.0.div_ceil(self.multiplier)));
        let reads = self.memory.read(&self.blocks)?;
        let read = self.memory.wait(reads);
        let changed = match written {
            Written::All => &self.blocks,
            Written::Firsts(size) => {
                self.changed.clear();
                self.changed.extend(self.blocks.iter().step_by(size));
                &self.changed
            }
            Written::None => &Vec::new(),
        };
        let written = if changed.is_empty() {
            read
        } else {
            let writes = self.memory.write(changed)?;
            self.memory.wait(writes)
        };
        let cycle = |at: lethe_dram::Cycle| Cycle(at.0 * self.multiplier);
        Ok(PathTimes { read: cycle(read), written: cycle(written) })
    }

    /// The work of the memory up to a cycle, and its energy.
    pub(crate) fn work(&mut self, end: Cycle) -> (Work, Energy) {
        self.memory.advance(lethe_dram::Cycle(end.0.div_ceil(self.multiplier)));
        (self.memory.counts(), self.memory.energy())
    }
}
