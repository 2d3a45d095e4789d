//! The schemes that the page offers, and how each is made at a toy's size.

use crate::area::{self, Area};
use crate::code::{self, Code};
use crate::driven::{BLOCK_BYTES, Driven, host};
use crate::memory::Memory;
use crate::own::OwnScheme;
use lethe_core::block_header::HEADER_BYTES;
use lethe_core::layout::Layout;
use lethe_core::position_map::flat::{FlatPositionMap, Positions};
use lethe_core::schemes::circuit::{CircuitOram, CircuitParameters};
use lethe_core::schemes::detworam::{DetWoOram, DetWoParameters};
use lethe_core::schemes::eager::{EagerOram, EagerParameters};
use lethe_core::schemes::hierarchical::{HierarchicalOram, HierarchicalParameters};
use lethe_core::schemes::opam::{OpamOram, OpamParameters};
use lethe_core::schemes::path::{PathOram, PathParameters};
use lethe_core::schemes::plain::{Plain, PlainParameters};
use lethe_core::schemes::practical_os::{PracticalOs, PracticalOsParameters};
use lethe_core::schemes::ring::{RingBucket, RingOram, RingParameters};
use lethe_core::schemes::root::{RootParameters, root_oram};
use lethe_core::schemes::square_root::{SquareRootOram, SquareRootParameters};
use lethe_core::schemes::trivial::{TrivialOram, TrivialParameters};
use lethe_core::words::{Bucket, Level};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use serde::Serialize;
use std::fmt::Display;
use std::rc::Rc;

/// The fewest blocks that a scheme is made for.
pub const LEAST_BLOCKS: u64 = 8;
/// The most blocks that a scheme is made for: a page draws no more.
pub const MOST_BLOCKS: u64 = 1024;

/// The watcher that a scheme stands against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Adversary {
    /// Sees every read and every write.
    Full,
    /// Sees what changed between two moments, and no reads.
    Snapshot,
    /// Learns what it wants to know: the scheme hides too little.
    Unopposed,
}

/// A scheme of the page.
#[derive(Clone, Copy, Serialize)]
pub struct Entry {
    /// The word for it in requests.
    pub name: &'static str,
    /// Its name in prose.
    pub title: &'static str,
    /// Its paper.
    pub source: &'static str,
    /// The way in which it works, in a sentence or two.
    pub about: &'static str,
    /// The watcher that it stands against.
    pub adversary: Adversary,
    /// The word for the blocks that it keeps on the trusted side; empty if it keeps none.
    pub stash: &'static str,
    #[serde(skip)]
    make: fn(Setting) -> Result<Made, String>,
}

/// The size of a scheme, and its randomness.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Blocks.
    pub capacity: u64,
    /// The seed of all that is drawn.
    pub seed: u64,
}

impl Setting {
    /// A stream of randomness.
    fn random(self, stream: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(stream);
        random
    }
}

/// A scheme over its memory.
pub struct Made {
    /// The scheme.
    pub scheme: Box<dyn Driven>,
    /// Its memory.
    pub memory: Rc<Memory>,
    /// The parts of that memory.
    pub areas: Vec<Area>,
    /// Blocks in a slot that is not empty.
    pub blocks_per_slot: u32,
    /// True if each block in memory has a header before it.
    pub has_headers: bool,
    /// Its pseudocode.
    pub code: Code,
}

impl Made {
    /// A scheme whose blocks have headers, so many of them in a slot.
    fn with_headers(
        layout: &Layout,
        blocks_per_slot: u32,
        areas: Vec<Area>,
        code: Code,
        build: impl FnOnce(Rc<Memory>) -> Result<Box<dyn Driven>, String>,
    ) -> Result<Self, String> {
        let memory = Rc::new(Memory::new(layout));
        let scheme = build(Rc::clone(&memory))?;
        Ok(Made { scheme, memory, areas, blocks_per_slot, has_headers: true, code })
    }

    /// A scheme whose slots hold a block and nothing else.
    fn bare(
        layout: &Layout,
        areas: Vec<Area>,
        code: Code,
        build: impl FnOnce(Rc<Memory>) -> Result<Box<dyn Driven>, String>,
    ) -> Result<Self, String> {
        Ok(Made { has_headers: false, ..Made::with_headers(layout, 1, areas, code, build)? })
    }

    /// The bytes of a block in memory, with its header if it has one.
    pub fn entry_bytes(&self) -> usize {
        BLOCK_BYTES as usize + if self.has_headers { HEADER_BYTES } else { 0 }
    }
}

/// All schemes, in the order of the page.
pub const ENTRIES: [Entry; 13] = [
    Entry {
        name: "path",
        title: "Path ORAM",
        source: "Stefanov and others, CCS 2013",
        about: "Blocks lie in a tree of buckets. An access reads one path from the root to a leaf, gives \
                the block a new random leaf, and writes the path back.",
        adversary: Adversary::Full,
        stash: "stash",
        make: path,
    },
    Entry {
        name: "ring",
        title: "Ring ORAM",
        source: "Ren and others, USENIX Security 2015",
        about: "An access reads one slot of each bucket of a path, the block's or a dummy's. Every third \
                access a whole path is written anew.",
        adversary: Adversary::Full,
        stash: "stash",
        make: ring,
    },
    Entry {
        name: "circuit",
        title: "Circuit ORAM",
        source: "Wang, Chan and Shi, CCS 2015",
        about: "An access takes its block off a path. Two further paths are then evicted, whose blocks go \
                down one at a time.",
        adversary: Adversary::Full,
        stash: "stash",
        make: circuit,
    },
    Entry {
        name: "square-root",
        title: "Square-Root ORAM",
        source: "Goldreich and Ostrovsky, JACM 1996, section 4",
        about: "Memory is permuted in secret. A block that was read is kept in a shelter, and a dummy is \
                read in its place the next time. When the shelter is full, everything is permuted anew.",
        adversary: Adversary::Full,
        stash: "",
        make: square_root,
    },
    Entry {
        name: "practical-os",
        title: "PracticalOS",
        source: "Goodrich and others, CODASPY 2012",
        about: "Square-Root ORAM whose shelter is on the trusted side: an access reads one slot and writes \
                none.",
        adversary: Adversary::Full,
        stash: "cache",
        make: practical_os,
    },
    Entry {
        name: "hierarchical",
        title: "Hierarchical ORAM",
        source: "Goldreich and Ostrovsky, JACM 1996, section 5",
        about: "Hash tables, each twice as large as the one above it. A block that was read goes to the top \
                and sinks.",
        adversary: Adversary::Full,
        stash: "",
        make: hierarchical,
    },
    Entry {
        name: "trivial",
        title: "Trivial ORAM",
        source: "Goldreich and Ostrovsky, JACM 1996, section 1.2",
        about: "Every access reads everything and writes everything back.",
        adversary: Adversary::Full,
        stash: "",
        make: trivial,
    },
    Entry {
        name: "root",
        title: "Root ORAM",
        source: "Wagh, Cuff and Mittal, PoPETs 2018",
        about: "Path ORAM whose blocks may stay near their old leaf. It is differentially private and not \
                oblivious: here with ε = 3 and four subtrees.",
        adversary: Adversary::Unopposed,
        stash: "stash",
        make: root,
    },
    Entry {
        name: "detworam",
        title: "DetWoORAM",
        source: "Roche and others, CCS 2017",
        about: "Writes go round a holding area, in an order that depends on their count alone. Reads are \
                not hidden.",
        adversary: Adversary::Snapshot,
        stash: "",
        make: detworam,
    },
    Entry {
        name: "eager",
        title: "Eager DetWoORAM",
        source: "Chakravarty and Panda, 2021, section 4.1",
        about: "DetWoORAM whose reads for the next write are made ahead, and whose writes are made \
                afterwards.",
        adversary: Adversary::Snapshot,
        stash: "preload buffer",
        make: eager,
    },
    Entry {
        name: "opam",
        title: "OPAM (broken)",
        source: "Aga and Narayanasamy, ISCA 2019; attacked by Roy and others, WOOT 2020",
        about: "Moves one slot of each bucket of a path. The slots that it chooses tell where blocks are.",
        adversary: Adversary::Unopposed,
        stash: "stash",
        make: opam,
    },
    Entry {
        name: "plain",
        title: "Plain store",
        source: "A baseline",
        about: "Block n is in slot n. Encryption hides what is in it, and not that it is asked for.",
        adversary: Adversary::Unopposed,
        stash: "",
        make: plain,
    },
    Entry {
        name: "own",
        title: "Your own (web/src/own.rs)",
        source: "Yours",
        about: "A scheme over the library's trait Store, drawn by the same page. As it comes it permutes \
                memory once: the provider sees which accesses are to the same block.",
        adversary: Adversary::Unopposed,
        stash: "",
        make: own,
    },
];

/// Makes the scheme of a name.
///
/// # Errors
/// There is no such scheme, or it cannot have this size; the text says what to do.
pub fn make(name: &str, setting: Setting) -> Result<Made, String> {
    let known = || ENTRIES.map(|entry| entry.name).join(", ");
    let entry = ENTRIES.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| format!("there is no scheme `{name}`: choose one of {}", known()))?;
    let capacity = setting.capacity;
    if !(LEAST_BLOCKS..=MOST_BLOCKS).contains(&capacity) {
        return Err(format!("{capacity} blocks: choose from {LEAST_BLOCKS} to {MOST_BLOCKS}"));
    }
    (entry.make)(setting)
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// A position map in which nothing is mapped.
fn map(capacity: u64) -> FlatPositionMap<std::convert::Infallible> {
    FlatPositionMap::new(Positions::new(capacity))
}

fn path_parameters(capacity: u64) -> Result<PathParameters, String> {
    PathParameters::for_capacity(capacity, BLOCK_BYTES, 0, 1).map_err(text)
}

fn path(setting: Setting) -> Result<Made, String> {
    let parameters = path_parameters(setting.capacity)?;
    let (layout, blocks) = (parameters.layout(), parameters.blocks_per_bucket);
    Made::with_headers(&layout, blocks, area::tree(&layout), code::path(), |memory| {
        let positions = map(setting.capacity);
        let scheme = PathOram::new(parameters, Bucket(0), memory, positions, setting.random(0));
        scheme.map(host).map_err(text)
    })
}

fn root(setting: Setting) -> Result<Made, String> {
    let path = path_parameters(setting.capacity)?;
    let (layout, blocks) = (path.layout(), path.blocks_per_bucket);
    let subtrees = Level(path.leaf_level.0.min(2));
    let parameters = RootParameters::for_epsilon(path, subtrees, 3.0);
    Made::with_headers(&layout, blocks, area::tree(&layout), code::root(), |memory| {
        let scheme = root_oram(parameters, Bucket(0), memory, setting.random(0), setting.random(1));
        scheme.map(host).map_err(text)
    })
}

/// Two blocks fall to each leaf, so a leaf's bucket has room for seven.
fn ring(setting: Setting) -> Result<Made, String> {
    let capacity = setting.capacity;
    let reads = 5;
    let parameters = RingParameters {
        capacity,
        block_bytes: BLOCK_BYTES,
        leaf_level: Level(capacity.div_ceil(2).next_power_of_two().trailing_zeros()),
        top: Level(0),
        eviction_rate: 3,
        reads,
        inner: RingBucket { blocks: 4, slots: 4 + reads },
        leaf: RingBucket { blocks: 7, slots: 7 + reads },
        max_batch: 1,
        stash_bound: capacity as u32 + 16,
    };
    let layout = parameters.layout();
    Made::with_headers(&layout, 1, area::tree(&layout), code::ring(), |memory| {
        let scheme = RingOram::new(parameters, memory, map(capacity), setting.random(0));
        scheme.map(host).map_err(text)
    })
}

fn circuit(setting: Setting) -> Result<Made, String> {
    let capacity = setting.capacity;
    let parameters = CircuitParameters::for_capacity(capacity, BLOCK_BYTES, 0, 1).map_err(text)?;
    let (layout, blocks) = (parameters.layout(), parameters.blocks_per_bucket);
    Made::with_headers(&layout, blocks, area::tree(&layout), code::circuit(), |memory| {
        let scheme = CircuitOram::new(parameters, memory, map(capacity), setting.random(0));
        scheme.map(host).map_err(text)
    })
}

fn square_root(setting: Setting) -> Result<Made, String> {
    let capacity = setting.capacity;
    let run = capacity.isqrt() as u32;
    let parameters = SquareRootParameters::for_capacity(capacity, BLOCK_BYTES, run, 1);
    let (layout, shelter) = (parameters.layout(), u64::from(parameters.shelter));
    let fill = layout.buckets() - parameters.permuted() - shelter;
    let parts =
        [("permuted memory", parameters.permuted(), 1), ("shelter", shelter, 1), ("filling", fill, 1)];
    Made::with_headers(&layout, 1, area::rows(parts), code::square_root(), |memory| {
        let scheme = SquareRootOram::new(parameters, Bucket(0), memory, setting.random(0));
        scheme.map(host).map_err(text)
    })
}

fn practical_os(setting: Setting) -> Result<Made, String> {
    let parameters = PracticalOsParameters::for_capacity(setting.capacity, BLOCK_BYTES, 1);
    let (layout, permuted) = (parameters.layout(), parameters.permuted());
    let parts = [("permuted memory", permuted, 1), ("filling", layout.buckets() - permuted, 1)];
    Made::with_headers(&layout, 1, area::rows(parts), code::practical_os(), |memory| {
        let scheme = PracticalOs::new(parameters, Bucket(0), memory, setting.random(0));
        scheme.map(host).map_err(text)
    })
}

/// A buffer of four blocks, and two of them expected in a bucket.
fn hierarchical(setting: Setting) -> Result<Made, String> {
    let capacity = setting.capacity;
    let paper = HierarchicalParameters::for_capacity(capacity, BLOCK_BYTES, 32, 1);
    let parameters = HierarchicalParameters { buffer: 4, load: 2, ..paper };
    let most = parameters.levels().iter().map(|level| level.slots).max().unwrap_or(1);
    let parameters = HierarchicalParameters { run_blocks: most.max(32), ..parameters };
    let layout = parameters.layout();
    Made::with_headers(&layout, 1, area::hierarchy(&layout), code::hierarchical(), |memory| {
        let scheme = HierarchicalOram::new(parameters, Bucket(0), memory, setting.random(0));
        scheme.map(host).map_err(text)
    })
}

fn trivial(setting: Setting) -> Result<Made, String> {
    let capacity = setting.capacity;
    let chunk_blocks = capacity.div_ceil(4) as u32;
    let parameters = TrivialParameters { capacity, block_bytes: BLOCK_BYTES, chunk_blocks, max_batch: 1 };
    let layout = parameters.layout();
    Made::bare(&layout, area::rows([("memory", capacity, 1)]), code::trivial(), |memory| {
        TrivialOram::new(parameters, Bucket(0), memory).map(host).map_err(text)
    })
}

/// Main area and holding area.
fn detworam_areas(parameters: &DetWoParameters) -> Vec<Area> {
    area::rows([("main area", parameters.capacity, 1), ("holding area", parameters.holding, 1)])
}

fn detworam(setting: Setting) -> Result<Made, String> {
    let parameters = DetWoParameters::for_ratio(setting.capacity, 3, BLOCK_BYTES);
    let (layout, areas) = (parameters.layout(), detworam_areas(&parameters));
    Made::bare(&layout, areas, code::detworam(), |memory| {
        DetWoOram::new(parameters, memory).map(host).map_err(text)
    })
}

fn eager(setting: Setting) -> Result<Made, String> {
    let areas = DetWoParameters::for_ratio(setting.capacity, 3, BLOCK_BYTES);
    let (layout, parts) = (areas.layout(), detworam_areas(&areas));
    Made::bare(&layout, parts, code::eager(), |memory| {
        EagerOram::new(EagerParameters { areas, step_pages: 2 }, memory).map(host).map_err(text)
    })
}

fn opam(setting: Setting) -> Result<Made, String> {
    let parameters = OpamParameters::for_capacity(setting.capacity, BLOCK_BYTES).map_err(text)?;
    let areas = area::tree_of_slots(parameters.leaf_level.0 + 1, parameters.slots_per_bucket);
    Made::bare(&parameters.layout(), areas, code::opam(), |memory| {
        OpamOram::new(parameters, memory, setting.random(0)).map(host).map_err(text)
    })
}

fn plain(setting: Setting) -> Result<Made, String> {
    let capacity = setting.capacity;
    let parameters = PlainParameters { capacity, block_bytes: BLOCK_BYTES, max_batch: 1 };
    let layout = parameters.layout();
    Made::bare(&layout, area::rows([("memory", capacity, 1)]), code::plain(), |memory| {
        Plain::new(parameters, memory).map(host).map_err(text)
    })
}

fn own(setting: Setting) -> Result<Made, String> {
    let capacity = setting.capacity;
    let layout = OwnScheme::<Rc<Memory>>::layout(capacity, BLOCK_BYTES);
    Made::bare(&layout, area::rows([("memory", capacity, 1)]), code::own(), |memory| {
        Ok(host(OwnScheme::new(capacity, BLOCK_BYTES, memory, setting.random(0))))
    })
}
