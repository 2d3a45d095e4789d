//! Schemes of trees over either position map: all of it on the trusted side, or in smaller and smaller trees.

use crate::area;
use crate::code::Code;
use crate::instance::{Instance, MapShape, PositionMapKind, Setting};
use crate::memory::Memory;
use crate::stepped_scheme::{SteppedScheme, stepped};
use ameles_core::inspect::Inspect;
use ameles_core::position_map::PositionMap;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::position_map::recursive::{RecursiveParameters, RecursivePositionMap};
use ameles_core::schemes::circuit::{CircuitOram, CircuitParameters};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::schemes::ring::{RingOram, RingParameters};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bucket;
use rand_chacha::ChaCha8Rng;
use std::convert::Infallible;
use std::fmt::Display;
use std::rc::Rc;

/// The maximum number of blocks for which two leaves are in a PosMap block. With more blocks there are four.
const FEW_BLOCKS: u64 = 32;

pub(crate) fn error_text(error: impl Display) -> String {
    error.to_string()
}

/// A position map in which nothing is mapped.
pub(crate) fn flat(capacity: u64) -> FlatPositionMap<Infallible> {
    FlatPositionMap::new(Positions::new(capacity))
}

/// Any position map.
pub(crate) trait AnyMap: PositionMap<Error = Infallible> + Inspect + 'static {}
impl<M: PositionMap<Error = Infallible> + Inspect + 'static> AnyMap for M {}

/// A scheme, or the reason why it cannot be made.
pub(crate) type BuiltScheme = Result<Box<dyn SteppedScheme>, String>;

/// The parameters of a scheme that takes any position map.
pub(crate) trait SchemeParameters {
    /// The scheme over a memory and a position map.
    fn build(self, memory: Rc<Memory>, map: impl AnyMap, random: ChaCha8Rng) -> BuiltScheme;
}

impl SchemeParameters for PathParameters {
    fn build(self, memory: Rc<Memory>, map: impl AnyMap, random: ChaCha8Rng) -> BuiltScheme {
        PathOram::new(self, Bucket(0), memory, map, random).map(stepped).map_err(error_text)
    }
}

impl SchemeParameters for RingParameters {
    fn build(self, memory: Rc<Memory>, map: impl AnyMap, random: ChaCha8Rng) -> BuiltScheme {
        RingOram::new(self, memory, map, random).map(stepped).map_err(error_text)
    }
}

impl SchemeParameters for CircuitParameters {
    fn build(self, memory: Rc<Memory>, map: impl AnyMap, random: ChaCha8Rng) -> BuiltScheme {
        CircuitOram::new(self, memory, map, random).map(stepped).map_err(error_text)
    }
}

/// The tree of a scheme.
pub(crate) struct Tree {
    /// The tree's memory, an extent for each level.
    pub(crate) layout: Layout,
    /// The number of blocks in each slot.
    pub(crate) blocks: u32,
    /// The pseudocode of the scheme.
    pub(crate) code: Code,
}

impl Tree {
    /// The scheme of these parameters, over the position map of a setting.
    pub(crate) fn instance(
        self,
        setting: Setting,
        scheme: impl SchemeParameters,
    ) -> Result<Instance, String> {
        let Tree { mut layout, blocks, code } = self;
        let mut areas = area::with_entries(area::tree(&layout), blocks);
        let random = setting.random(0);
        if setting.map == PositionMapKind::Trusted {
            let build = |memory| scheme.build(memory, flat(setting.capacity), random);
            return Instance::new(&layout, areas, code, build);
        }
        let parameters = recursive_parameters(setting);
        let first = Bucket(layout.buckets());
        let levels = parameters.levels().map_err(error_text)?;
        for (map, level) in (1..).zip(&levels) {
            areas = area::with_map(areas, map, &level.layout(), level.blocks_per_bucket);
            layout.append(&level.layout());
        }
        let instance = Instance::new(&layout, areas, code.with_map(), |memory| {
            let mut seeds = setting.random(1);
            let map = RecursivePositionMap::new(&parameters, first, Rc::clone(&memory), &mut seeds);
            scheme.build(memory, map.map_err(error_text)?, random)
        })?;
        let leaves = parameters.entries_per_block;
        let shapes = (1..).zip(&levels).map(|(map, level)| {
            let covers = u64::from(leaves).pow(map);
            MapShape { blocks: level.capacity, leaves, covers }
        });
        Ok(Instance { maps: shapes.collect(), ..instance })
    }
}

/// Few leaves in a PosMap block, and few on the trusted side, so that even eight blocks have a tree for their map.
fn recursive_parameters(Setting { capacity, batch, .. }: Setting) -> RecursiveParameters {
    let entries_per_block = if capacity <= FEW_BLOCKS { 2 } else { 4 };
    RecursiveParameters {
        blocks: capacity,
        entries_per_block,
        flat_limit: 2 * u64::from(entries_per_block),
        trusted_blocks: 0,
        max_batch: batch,
    }
}
