//! The schemes of the page, each in a small example size.

use crate::area::{self, Area};
use crate::code;
use crate::instance::{Instance, Processors, Setting};
use crate::memory::Memory;
use crate::own_scheme::OwnScheme;
use crate::stepped_scheme::{BLOCK_BYTES, stepped};
use crate::tree_schemes::{Tree, error_text, flat};
use crate::wire::Wire;
use ameles_core::network::Processor;
use ameles_core::partitions::PartitionsParameters;
use ameles_core::schemes::circuit::CircuitParameters;
use ameles_core::schemes::curious::{self, CuriousParameters};
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::schemes::eager::{EagerOram, EagerParameters};
use ameles_core::schemes::hierarchical::{HierarchicalOram, HierarchicalParameters};
use ameles_core::schemes::oblivistore::{self, ObliviStoreParameters, PartitionShape};
use ameles_core::schemes::opam::{OpamOram, OpamParameters};
use ameles_core::schemes::parallel::{ParallelOram, ParallelParameters};
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::plain::{Plain, PlainParameters};
use ameles_core::schemes::practical_os::{PracticalOs, PracticalOsParameters};
use ameles_core::schemes::ring::{RingBucket, RingParameters};
use ameles_core::schemes::root::{RootParameters, root_oram};
use ameles_core::schemes::square_root::{SquareRootOram, SquareRootParameters};
use ameles_core::schemes::trivial::{TrivialOram, TrivialParameters};
use ameles_core::types::{Bucket, Level};
use std::rc::Rc;

fn path_parameters(Setting { capacity, batch, .. }: Setting) -> Result<PathParameters, String> {
    PathParameters::for_capacity(capacity, BLOCK_BYTES, 0, batch).map_err(error_text)
}

pub(crate) fn path(setting: Setting) -> Result<Instance, String> {
    let parameters = path_parameters(setting)?;
    let tree = Tree { layout: parameters.layout(), blocks: parameters.blocks_per_bucket, code: code::path() };
    tree.instance(setting, parameters)
}

pub(crate) fn root(setting: Setting) -> Result<Instance, String> {
    let path = path_parameters(setting)?;
    let (layout, blocks) = (path.layout(), path.blocks_per_bucket);
    let subtrees = Level(path.leaf_level.0.min(2));
    let parameters = RootParameters::for_epsilon(path, subtrees, 3.0);
    Instance::new(&layout, area::with_entries(area::tree(&layout), blocks), code::root(), |memory| {
        let scheme = root_oram(parameters, Bucket(0), memory, setting.random(0), setting.random(1));
        scheme.map(stepped).map_err(error_text)
    })
}

/// Two blocks fall to each leaf, so a leaf's bucket has room for seven.
pub(crate) fn ring(setting: Setting) -> Result<Instance, String> {
    let capacity = setting.capacity;
    let reads = 4 + setting.batch;
    let parameters = RingParameters {
        capacity,
        block_bytes: BLOCK_BYTES,
        leaf_level: Level(capacity.div_ceil(2).next_power_of_two().trailing_zeros()),
        top: Level(0),
        eviction_rate: 3,
        reads,
        inner: RingBucket { blocks: 4, slots: 4 + reads },
        leaf: RingBucket { blocks: 7, slots: 7 + reads },
        max_batch: setting.batch,
        stash_bound: capacity as u32 + 16 * setting.batch,
        slice_slots: u32::MAX,
    };
    let tree = Tree { layout: parameters.layout(), blocks: 1, code: code::ring() };
    tree.instance(setting, parameters)
}

pub(crate) fn circuit(setting: Setting) -> Result<Instance, String> {
    let capacity = setting.capacity;
    let parameters =
        CircuitParameters::for_capacity(capacity, BLOCK_BYTES, 0, setting.batch).map_err(error_text)?;
    let tree =
        Tree { layout: parameters.layout(), blocks: parameters.blocks_per_bucket, code: code::circuit() };
    tree.instance(setting, parameters)
}

pub(crate) fn square_root(setting: Setting) -> Result<Instance, String> {
    let capacity = setting.capacity;
    let run = capacity.isqrt() as u32;
    let parameters = SquareRootParameters::for_capacity(capacity, BLOCK_BYTES, run, setting.batch);
    let (layout, shelter) = (parameters.layout(), u64::from(parameters.shelter));
    let fill = layout.buckets() - parameters.permuted() - shelter;
    let parts =
        [("permuted memory", parameters.permuted(), 1), ("shelter", shelter, 1), ("filling", fill, 1)];
    Instance::new(&layout, area::rows(parts), code::square_root(), |memory| {
        let scheme = SquareRootOram::new(parameters, Bucket(0), memory, setting.random(0));
        scheme.map(stepped).map_err(error_text)
    })
}

pub(crate) fn practical_os(setting: Setting) -> Result<Instance, String> {
    let parameters = PracticalOsParameters::for_capacity(setting.capacity, BLOCK_BYTES, setting.batch);
    let (layout, permuted) = (parameters.layout(), parameters.permuted());
    let parts = [("permuted memory", permuted, 1), ("filling", layout.buckets() - permuted, 1)];
    Instance::new(&layout, area::rows(parts), code::practical_os(), |memory| {
        let scheme = PracticalOs::new(parameters, Bucket(0), memory, setting.random(0));
        scheme.map(stepped).map_err(error_text)
    })
}

/// A buffer of four blocks, or of a batch, and two of them expected in a bucket.
pub(crate) fn hierarchical(setting: Setting) -> Result<Instance, String> {
    let capacity = setting.capacity;
    let paper = HierarchicalParameters::for_capacity(capacity, BLOCK_BYTES, 32, setting.batch);
    let parameters = HierarchicalParameters { buffer: setting.batch.max(4), load: 2, ..paper };
    let max = parameters.levels().iter().map(|level| level.slots).max().unwrap_or(1);
    let parameters = HierarchicalParameters { run_blocks: max.max(32), ..parameters };
    let layout = parameters.layout();
    Instance::new(&layout, area::hierarchy(&layout), code::hierarchical(), |memory| {
        let scheme = HierarchicalOram::new(parameters, Bucket(0), memory, setting.random(0));
        scheme.map(stepped).map_err(error_text)
    })
}

/// √N partitions, but 4 to 8 of them. The cache has room for all blocks.
fn partitions(Setting { capacity, batch, .. }: Setting, sweep_evictions: u32) -> PartitionsParameters {
    PartitionsParameters {
        capacity,
        block_bytes: BLOCK_BYTES,
        partitions: capacity.isqrt().clamp(4, 8) as u32,
        sweep_evictions,
        sweep_accesses: 4,
        cache_bound: capacity as u32 + 16 * batch,
        max_batch: batch,
    }
}

/// Trees of the authors' size for the number of blocks expected in one, but at least two levels.
pub(crate) fn curious(setting: Setting) -> Result<Instance, String> {
    let capacity = setting.capacity;
    let partitions = partitions(setting, 0);
    let count = u64::from(partitions.partitions);
    let expected = capacity.div_ceil(count).max(3);
    let paper = CuriousParameters::for_capacity(expected.pow(2), BLOCK_BYTES, setting.batch);
    let parameters = CuriousParameters { partitions, ..paper };
    let (layout, tree) = (parameters.layout(), parameters.tree);
    let levels = (0..tree.levels).map(|level| u64::from(tree.arity).pow(level));
    let areas = area::trees(count, levels);
    Instance::new(&layout, area::with_entries(areas, tree.blocks_per_bucket), code::curious(), |memory| {
        let mut streams = 0..;
        let random = || setting.random(streams.next().unwrap_or_default());
        curious::curious(&parameters, Bucket(0), &memory, random).map(stepped).map_err(error_text)
    })
}

/// Levels of 1, 2, 4, … blocks, the last one with room for twice as many as are expected in a partition.
pub(crate) fn oblivistore(setting: Setting) -> Result<Instance, String> {
    let capacity = setting.capacity;
    let partitions = partitions(setting, 1);
    let count = u64::from(partitions.partitions);
    let room = (2 * capacity.div_ceil(count)).next_power_of_two();
    let partition = PartitionShape { levels: room.ilog2() + 1, capacity: room, block_bytes: BLOCK_BYTES };
    let parameters = ObliviStoreParameters { partitions, partition };
    let levels = (0..partition.levels).map(|level| 2 * partition.blocks(level));
    let areas = area::levels(count, levels);
    Instance::new(&parameters.layout(), areas, code::oblivistore(), |memory| {
        let mut streams = 0..;
        let random = || setting.random(streams.next().unwrap_or_default());
        oblivistore::oblivistore(&parameters, Bucket(0), &memory, random).map(stepped).map_err(error_text)
    })
}

/// A processor for each access of a batch, and the whole of its subtree in memory.
pub(crate) fn parallel(setting: Setting) -> Result<Instance, String> {
    let (capacity, count) = (setting.capacity, setting.batch);
    let parameters = ParallelParameters::for_capacity(capacity, BLOCK_BYTES, count, 0).map_err(error_text)?;
    let (layout, blocks) = (parameters.layout(), parameters.blocks_per_bucket);
    let subtree = parameters.subtree(Processor(0));
    let extents = subtree.layout();
    let areas = area::subtrees(count, parameters.top, extents.extents().iter().map(|extent| extent.buckets));
    let instance = Instance::new(&layout, area::with_entries(areas, blocks), code::parallel(), |memory| {
        let stores = (0..count).map(|_| Rc::clone(&memory)).collect();
        let random = setting.random(0);
        let scheme = ParallelOram::new(parameters, stores, Wire(memory), flat(capacity), random);
        scheme.map(stepped).map_err(error_text)
    })?;
    Ok(Instance { processors: Some(Processors { count, leaves: subtree.leaves() }), ..instance })
}

pub(crate) fn trivial(setting: Setting) -> Result<Instance, String> {
    let capacity = setting.capacity;
    let chunk_blocks = capacity.div_ceil(4) as u32;
    let parameters =
        TrivialParameters { capacity, block_bytes: BLOCK_BYTES, chunk_blocks, max_batch: setting.batch };
    let layout = parameters.layout();
    Instance::new(&layout, area::rows([("memory", capacity, 1)]), code::trivial(), |memory| {
        TrivialOram::new(parameters, Bucket(0), memory).map(stepped).map_err(error_text)
    })
    .map(Instance::without_headers)
}

fn detworam_parameters(Setting { capacity, batch, .. }: Setting) -> DetWoParameters {
    DetWoParameters { max_batch: batch, ..DetWoParameters::for_ratio(capacity, 3, BLOCK_BYTES) }
}

/// Main area and holding area.
fn detworam_areas(parameters: &DetWoParameters) -> Vec<Area> {
    area::rows([("main area", parameters.capacity, 1), ("holding area", parameters.holding, 1)])
}

pub(crate) fn detworam(setting: Setting) -> Result<Instance, String> {
    let parameters = detworam_parameters(setting);
    let (layout, areas) = (parameters.layout(), detworam_areas(&parameters));
    Instance::new(&layout, areas, code::detworam(), |memory| {
        DetWoOram::new(parameters, memory).map(stepped).map_err(error_text)
    })
    .map(Instance::without_headers)
}

pub(crate) fn eager(setting: Setting) -> Result<Instance, String> {
    let areas = detworam_parameters(setting);
    let (layout, parts) = (areas.layout(), detworam_areas(&areas));
    Instance::new(&layout, parts, code::eager(), |memory| {
        EagerOram::new(EagerParameters { areas, step_pages: 2 }, memory).map(stepped).map_err(error_text)
    })
    .map(Instance::without_headers)
}

pub(crate) fn opam(setting: Setting) -> Result<Instance, String> {
    let parameters = OpamParameters::for_capacity(setting.capacity, BLOCK_BYTES).map_err(error_text)?;
    let parameters = OpamParameters { max_batch: setting.batch, ..parameters };
    let areas = area::tree_of_slots(parameters.leaf_level.0 + 1, parameters.slots_per_bucket);
    Instance::new(&parameters.layout(), areas, code::opam(), |memory| {
        OpamOram::new(parameters, memory, setting.random(0)).map(stepped).map_err(error_text)
    })
    .map(Instance::without_headers)
}

pub(crate) fn plain(setting: Setting) -> Result<Instance, String> {
    let capacity = setting.capacity;
    let parameters = PlainParameters { capacity, block_bytes: BLOCK_BYTES, max_batch: setting.batch };
    let layout = parameters.layout();
    Instance::new(&layout, area::rows([("memory", capacity, 1)]), code::plain(), |memory| {
        Plain::new(parameters, memory).map(stepped).map_err(error_text)
    })
    .map(Instance::without_headers)
}

pub(crate) fn own(setting: Setting) -> Result<Instance, String> {
    let capacity = setting.capacity;
    let layout = OwnScheme::<Rc<Memory>>::layout(capacity, BLOCK_BYTES);
    Instance::new(&layout, area::rows([("memory", capacity, 1)]), code::own(), |memory| {
        Ok(stepped(OwnScheme::new(capacity, BLOCK_BYTES, memory, setting.random(0))))
    })
    .map(Instance::without_headers)
}
