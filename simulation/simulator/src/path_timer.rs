//! The time that a path takes in DRAM: its blocks are read, and when the last one has arrived, the changed ones are
//! written.

use crate::clocks::Clocks;
use crate::configuration::Configuration;
use crate::configuration_error::ConfigurationError;
use crate::eviction_behind::EvictionBehind;
use crate::fork_path::{ForkPathConfiguration, shared_levels};
use crate::path_variant::PathVariant;
use crate::pattern::Tree;
use crate::ring_metadata::RingMetadata;
use crate::tree::store::MovedSlots;
use crate::tree_scheme::{Headers, TreeScheme};
use ameles_core::types::{Leaf, Level};
use ameles_dram::{
    Block, Counts as Work, Cycle as MemoryCycle, Direction, DramError, Energy, Geometry, Layout, Memory,
    PlainLayout, SubtreeLayout,
};
use ameles_processor::units::Cycle;
use std::ops::Range;

/// The blocks of a step that are moved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MovedBlocks<'a> {
    /// An access to the path to this leaf.
    Access(Leaf),
    /// An eviction along the path to this leaf.
    Eviction(Leaf),
    /// The path moves these slots of the main tree, one by one.
    Slots(&'a MovedSlots),
}

/// The cycles of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathTimes {
    /// The cycle in which the last block of the path has been read.
    pub(crate) read: Cycle,
    /// The cycle at which the next path may begin: after the last write of this path, or if paths overlap, after its
    /// last read.
    pub(crate) end: Cycle,
}

/// DRAM with a tree in it, or two.
pub(crate) struct PathTimer {
    memory: Memory,
    main: Region,
    small: Option<Region>,
    clocks: Clocks,
    /// The blocks of a path that an access to the main tree writes.
    written: WrittenPart,
    /// The merging of paths in Fork Path.
    merging: Option<Merging>,
    /// True if siblings are moved with each bucket, in PageORAM.
    has_siblings: bool,
    /// The number of levels on the trusted side.
    top_levels: u32,
    /// The number of lines of a block.
    block_lines: u64,
    /// Ring ORAM's metadata, if they are in memory.
    metadata: Option<RingMetadata>,
    /// Metadata that a step reads before anything else.
    first: Vec<Block>,
    /// The other blocks that the path reads.
    blocks: Vec<Block>,
    /// The blocks that it writes, if those are not all of `blocks`.
    changed: Vec<Block>,
    changes_all: bool,
    /// The eviction behind the next paths, if nothing waits for evictions and writes.
    behind: Option<EvictionBehind>,
}

/// Merged paths: the one that was read last, whose buckets are written once the next one is known.
struct Merging {
    fork_path: ForkPathConfiguration,
    /// The first level in memory, and that of the leaves.
    levels: (u32, u32),
    held: Option<Leaf>,
}

/// The blocks of a path that an access writes.
#[derive(Clone, Copy)]
enum WrittenPart {
    All,
    /// The first lines of the buckets, by their number.
    Firsts {
        lines: usize,
        bucket: usize,
    },
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

    /// The number of the block after the last one.
    fn end(&self) -> u64 {
        self.first
            + match &self.layout {
                TreeLayout::Subtrees(layout) => layout.blocks(),
                TreeLayout::Plain(layout) => layout.blocks(),
            }
    }

    /// Lines of a bucket by level.
    fn slots_by_level(&self) -> &[u32] {
        match &self.layout {
            TreeLayout::Subtrees(layout) => layout.slots(),
            TreeLayout::Plain(layout) => layout.slots(),
        }
    }

    /// The level of the leaves.
    fn leaf_level(&self) -> u32 {
        self.slots_by_level().len() as u32 - 1
    }

    /// Lines of a bucket of a level.
    fn slots(&self, level: Level) -> u64 {
        self.slots_by_level()[level.0 as usize].into()
    }

    /// Some lines of the bucket at `index` of a level.
    fn bucket(&self, level: Level, index: u64, lines: Range<u64>) -> impl Iterator<Item = Block> + use<> {
        let bucket = match &self.layout {
            TreeLayout::Subtrees(layout) => layout.bucket(level.0 as usize, index),
            TreeLayout::Plain(layout) => layout.bucket(level.0 as usize, index),
        };
        let first = self.first + bucket.0;
        lines.map(move |line| Block(first + line))
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
    /// The memory of a configuration. The small tree begins at a super-row after the main tree. One super-row between
    /// them is left empty.
    pub(crate) fn new(configuration: &Configuration) -> Result<Self, ConfigurationError> {
        let Configuration { memory, oram, small_tree, subtree_levels, .. } = configuration;
        let geometry = &memory.geometry;
        let main = Region::new(0, (&configuration.slots()?, oram.top_levels), *subtree_levels, geometry)?;
        let super_row = geometry.super_row_blocks();
        let first = main.end().next_multiple_of(super_row) + super_row;
        let small = match small_tree {
            Some(small) => {
                let slots = configuration.in_lines(small.slots()?);
                Some(Region::new(first, (&slots, small.top_levels), *subtree_levels, geometry)?)
            }
            None => None,
        };
        let memory = Memory::new(memory)?;
        let written = match oram.scheme {
            TreeScheme::Path => WrittenPart::All,
            TreeScheme::Raw { headers: Headers::InMemory, .. } => {
                let lines = configuration.block_lines as usize;
                WrittenPart::Firsts { lines, bucket: (oram.blocks_per_bucket as usize + 1) * lines }
            }
            TreeScheme::Raw { headers: Headers::OnChip, .. } | TreeScheme::Ring { .. } => WrittenPart::None,
        };
        let levels = (oram.top_levels, oram.levels - 1);
        let merging = configuration.variant.fork_path().copied();
        let merging = merging.map(|fork_path| Merging { fork_path, levels, held: None });
        let metadata = RingMetadata::of(oram.scheme, &oram.parameters()?.tree);
        Ok(PathTimer {
            memory,
            main,
            small,
            clocks: configuration.clocks(),
            written,
            merging,
            has_siblings: configuration.variant == PathVariant::Siblings,
            top_levels: oram.top_levels,
            block_lines: configuration.block_lines,
            metadata,
            first: Vec::new(),
            blocks: Vec::new(),
            changed: Vec::new(),
            changes_all: false,
            behind: configuration.overlapped_writes.then(EvictionBehind::default),
        })
    }

    /// Reads the blocks of a step of a tree, not before `start`, and writes those that it changes.
    pub(crate) fn step(
        &mut self,
        start: Cycle,
        tree: Tree,
        moved: MovedBlocks<'_>,
    ) -> Result<PathTimes, DramError> {
        match moved {
            MovedBlocks::Access(leaf) | MovedBlocks::Eviction(leaf) if self.merging.is_some() => {
                self.list_merged(leaf);
            }
            MovedBlocks::Access(leaf) => {
                self.list_path(tree, leaf, if tree == Tree::Small { WrittenPart::All } else { self.written })
            }
            MovedBlocks::Eviction(leaf) => self.list_path(tree, leaf, WrittenPart::All),
            MovedBlocks::Slots(moved) => self.list_slots(moved),
        }
        self.memory.advance(self.clocks.to_memory(start));
        let is_eviction = matches!(moved, MovedBlocks::Slots(moved) if !moved.written.is_empty());
        if let Some(behind) = self.behind.as_mut().filter(|_| is_eviction) {
            behind.begin(&mut self.memory, [&self.first, &self.blocks, &self.changed])?;
            let now = self.clocks.to_processor(self.memory.now());
            return Ok(PathTimes { read: now, end: now });
        }
        let read = self.read_listed()?;
        let end = self.write_listed()?;
        Ok(PathTimes { read: self.clocks.to_processor(read), end: self.clocks.to_processor(end) })
    }

    /// Reads the listed blocks.
    fn read_listed(&mut self) -> Result<MemoryCycle, DramError> {
        for blocks in [&self.first, &self.blocks] {
            if let Some(behind) = &mut self.behind {
                behind.go_on(&mut self.memory)?;
            }
            if !blocks.is_empty() {
                let reads = self.memory.read(blocks)?;
                let at = self.memory.wait(reads);
                self.memory.advance(at);
            }
        }
        Ok(self.memory.now())
    }

    /// Writes the listed blocks that change, and waits for that unless the next path may begin meanwhile.
    fn write_listed(&mut self) -> Result<MemoryCycle, DramError> {
        let changed = if self.changes_all { &self.blocks } else { &self.changed };
        if self.behind.is_some() {
            self.memory.post(Direction::Write, changed)?;
        } else if !changed.is_empty() {
            let writes = self.memory.write(changed)?;
            self.memory.wait(writes);
        }
        Ok(self.memory.now())
    }

    /// Lists the blocks of a path, and those of them that are written.
    fn list_path(&mut self, tree: Tree, leaf: Leaf, written: WrittenPart) {
        let region = match (tree, &self.small) {
            (Tree::Small, Some(small)) => small,
            _ => &self.main,
        };
        self.first.clear();
        self.changed.clear();
        region.path(leaf, &mut self.blocks);
        if self.has_siblings {
            let leaf_level = region.leaf_level();
            for level in self.top_levels.max(1)..=leaf_level {
                let sibling = (leaf.0 >> (leaf_level - level)) ^ 1;
                let slots = region.slots(Level(level));
                self.blocks.extend(region.bucket(Level(level), sibling, 0..slots));
            }
        }
        self.changes_all = matches!(written, WrittenPart::All);
        if let WrittenPart::Firsts { lines, bucket } = written {
            self.changed.extend(self.blocks.chunks_exact(bucket).flat_map(|bucket| &bucket[..lines]));
        }
    }

    /// Lists the blocks of a path that the one before does not share, and the blocks of that one which are not shared.
    fn list_merged(&mut self, leaf: Leaf) {
        let (region, Some(merging)) = (&self.main, &mut self.merging) else { return };
        let Merging { fork_path, levels: (top, leaf_level), held } = merging;
        self.first.clear();
        self.changes_all = false;
        let shared = held.map_or(0, |held| shared_levels(held, leaf, *leaf_level));
        let list = |path: Leaf, blocks: &mut Vec<Block>| {
            blocks.clear();
            for level in shared.max(*top)..=*leaf_level {
                if !fork_path.caches(level) {
                    let (index, level) = (path.0 >> (*leaf_level - level), Level(level));
                    blocks.extend(region.bucket(level, index, 0..region.slots(level)));
                }
            }
        };
        list(leaf, &mut self.blocks);
        match *held {
            Some(held) => list(held, &mut self.changed),
            None => self.changed.clear(),
        }
        *held = Some(leaf);
    }

    /// Lists the blocks of slots of the main tree, the metadata that identify them, and the buckets that are written.
    fn list_slots(&mut self, moved: &MovedSlots) {
        let (region, lines, metadata) = (&self.main, self.block_lines, self.metadata);
        self.first.clear();
        self.blocks.clear();
        self.changed.clear();
        self.changes_all = false;
        let header = metadata.map_or(0, |metadata| u64::from(metadata.header_lines));
        for (level, index, slot) in &moved.read {
            let first = header + u64::from(*slot) * lines;
            self.blocks.extend(region.bucket(*level, *index, first..first + lines));
        }
        let has_states = |level: Level| metadata.is_some_and(|metadata| metadata.has_states(level.0));
        for (level, index) in &moved.written {
            let end = region.slots(*level) - u64::from(has_states(*level));
            self.changed.extend(region.bucket(*level, *index, 0..end));
        }
        let Some(metadata) = metadata else { return };
        let mut states = Vec::new();
        for (level, index) in moved.buckets() {
            self.first.extend(region.bucket(level, index, 0..header));
            states.push(metadata.state_bucket((level, index)));
        }
        states.sort_unstable();
        states.dedup();
        for (level, index) in states {
            let end = region.slots(level);
            let begin = self.first.len();
            self.first.extend(region.bucket(level, index, end - 1..end));
            self.changed.extend(&self.first[begin..]);
        }
    }

    /// The work of the memory up to a cycle, and its energy.
    pub(crate) fn work(&mut self, end: Cycle) -> (Work, Energy) {
        self.memory.advance(self.clocks.to_memory(end));
        (self.memory.counts(), self.memory.energy())
    }
}
