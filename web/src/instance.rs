//! A scheme over its memory, created for the page.

use crate::area::Area;
use crate::code::Code;
use crate::memory::Memory;
use crate::stepped_scheme::{BLOCK_BYTES, SteppedScheme};
use ameles_core::tree::block_header::HEADER_BYTES;
use ameles_core::tree::layout::Layout;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// The size of a scheme, and its randomness.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The number of blocks.
    pub capacity: u64,
    /// The seed of all that is drawn.
    pub seed: u64,
    /// The maximum number of accesses in a batch; in the parallel RAM its processors, of which each has one.
    pub batch: u32,
    /// The place of the position map.
    pub map: PositionMapKind,
}

/// The place of the position map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionMapKind {
    /// The whole map is on the trusted side.
    #[default]
    Trusted,
    /// The map is in smaller and smaller ORAMs. The trusted side has the map of the last one.
    Recursive,
}

impl Setting {
    /// A stream of randomness.
    pub(crate) fn random(self, stream: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(stream);
        random
    }
}

/// The processors of a scheme that has many.
#[derive(Clone, Copy, Debug)]
pub struct Processors {
    /// The number of processors.
    pub count: u32,
    /// The leaves of each one's subtree.
    pub leaves: u64,
}

/// An ORAM of a recursive position map.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MapShape {
    /// The number of PosMap blocks.
    pub blocks: u64,
    /// X, the number of leaves in each PosMap block.
    pub leaves: u32,
    /// The number of the scheme's blocks that each PosMap block covers.
    pub covers: u64,
}

/// A scheme, and its memory.
pub struct Instance {
    /// The scheme.
    pub scheme: Box<dyn SteppedScheme>,
    /// The instance's memory.
    pub memory: Rc<Memory>,
    /// The parts of that memory.
    pub areas: Vec<Area>,
    /// True if each block in memory has a header before it.
    pub has_headers: bool,
    /// The instance's pseudocode.
    pub code: Code,
    /// The instance's processors, if it has several.
    pub processors: Option<Processors>,
    /// The ORAMs of its position map, the largest first. Empty if the map is not recursive.
    pub maps: Vec<MapShape>,
}

impl Instance {
    /// A scheme whose blocks have headers.
    pub(crate) fn new(
        layout: &Layout,
        areas: Vec<Area>,
        code: Code,
        build: impl FnOnce(Rc<Memory>) -> Result<Box<dyn SteppedScheme>, String>,
    ) -> Result<Self, String> {
        let memory = Rc::new(Memory::new(layout));
        let scheme = build(Rc::clone(&memory))?;
        Ok(Instance { scheme, memory, areas, has_headers: true, code, processors: None, maps: Vec::new() })
    }

    /// The same scheme, whose slots hold a block and nothing else.
    pub(crate) fn without_headers(self) -> Self {
        Instance { has_headers: false, ..self }
    }

    /// The bytes of a block in a part of memory, with its header if it has one.
    pub fn entry_bytes(&self, area: &Area) -> usize {
        let map = area.map.and_then(|map| self.maps.get(map as usize - 1));
        let block_bytes = map.map_or(BLOCK_BYTES, |map| map.leaves * BLOCK_BYTES);
        block_bytes as usize + if self.has_headers { HEADER_BYTES } else { 0 }
    }
}
