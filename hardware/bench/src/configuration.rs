//! The choices of a controller, and what follows from them for memory: the Rust counterpart of
//! `hardware/rtl/ameles_pkg.sv`.

use ameles_core::schemes::freecursive::{
    AddressSpace, BackendParameters, FreecursiveParameters, PositionStorage, TAG_BYTES, TrustedHits,
};
use ameles_core::schemes::path::{BucketsByLevel, PathParameters, TreeTopParameters};
use ameles_core::schemes::raw::RawParameters;
use ameles_core::types::Level;

/// The scheme of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Path ORAM.
    Path,
    /// RAW ORAM.
    Raw,
}

/// The choices. Letters are those of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    // Wide: the twin of `config_t`, one for one.
    /// The scheme.
    pub scheme: Scheme,
    /// L.
    pub leaf_level: u32,
    /// Z.
    pub blocks_per_bucket: u32,
    /// A, of RAW ORAM.
    pub eviction_rate: u32,
    /// C.
    pub stash_blocks: u32,
    /// N.
    pub blocks: u32,
    /// The size of a block in bytes.
    pub block_bytes: u32,
    /// The number of bits of a beat on the bus.
    pub bus_bits: u32,
    /// The number of blocks of AES that a cycle begins.
    pub aes_lanes: u32,
    /// The choice of one pipeline at twice the clock for each two lanes.
    pub aes_double: bool,
    /// Masks that are computed ahead of time.
    pub mask_beats: u32,
    /// The number of levels on chip, starting with the root.
    pub top_levels: u32,
    /// The number of blocks of a bucket of each level; 0 means Z, the maximum.
    pub level_blocks: [u8; 32],
    /// The number of levels whose buckets are contiguous in memory; 0 or 1 for the order of a heap.
    pub subtree_levels: u32,
    /// The number of blocks of the stash and of the tree top that a cycle scans: 1 or 2.
    pub scan_lanes: u32,
    /// The number of cycles without movement of memory after which the controller signals a stall.
    pub stall_cycles: u32,
    /// The front end; `None` for a backend without a front end.
    pub front_end: Option<FrontEnd>,
}

/// The parameters of the front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontEnd {
    /// X', counters in a PosMap block.
    pub labels: u32,
    /// β, bits of a counter.
    pub label_bits: u32,
    /// The maximum number of counters in the table on chip.
    pub trusted: u32,
    /// The number of lines of the PLB.
    pub look_aside: u32,
    /// The number of bits of a tag; 0 for none.
    pub tag_bits: u32,
    /// The least cycles from path to path; 0 for no pacer.
    pub slot_cycles: u32,
}

/// The number of bits of the IV at the beginning of a header.
pub(crate) const IV_BITS: u32 = 64;

/// The number of bits of a block of AES.
pub(crate) const CHUNK_BITS: u32 = 128;

impl Configuration {
    /// The configuration of the paper for a scheme: 64-byte blocks, L = 20, a bus of 512 bits.
    pub const fn paper(scheme: Scheme) -> Self {
        let (blocks_per_bucket, stash_blocks, aes_lanes) = match scheme {
            Scheme::Path => (4, 78, 4),
            Scheme::Raw => (5, 64, 2),
        };
        Configuration {
            scheme,
            leaf_level: 20,
            blocks_per_bucket,
            eviction_rate: 5,
            stash_blocks,
            blocks: 1 << 20,
            block_bytes: 64,
            bus_bits: 512,
            aes_lanes,
            aes_double: false,
            mask_beats: 256,
            top_levels: 0,
            level_blocks: [0; 32],
            subtree_levels: 0,
            scan_lanes: 1,
            stall_cycles: 1000,
            front_end: None,
        }
    }

    /// This configuration with the front end of the paper: two levels of PosMap blocks in the tree, and a table below 8
    /// KB.
    pub const fn with_front_end(self) -> Self {
        let front_end = FrontEnd {
            labels: 32,
            label_bits: 14,
            trusted: 1024,
            look_aside: 128,
            tag_bits: 0,
            slot_cycles: 0,
        };
        Configuration { front_end: Some(front_end), ..self }
    }

    /// This configuration with tags of this many bits (PMMAC).
    ///
    /// # Panics
    /// If the configuration has no front end.
    pub fn with_tags(self, tag_bits: u32) -> Self {
        let front_end = self.front_end.expect("tags need counters, and so a front end");
        Configuration { front_end: Some(FrontEnd { tag_bits, ..front_end }), ..self }
    }

    /// This configuration with a path every `slot_cycles` cycles, for a block or a dummy.
    ///
    /// # Panics
    /// If the configuration has no front end.
    pub fn with_slots(self, slot_cycles: u32) -> Self {
        let front_end = self.front_end.expect("a pacer needs a front end");
        Configuration { front_end: Some(FrontEnd { slot_cycles, ..front_end }), ..self }
    }

    /// Returns the number of bits of a tag; 0 for none.
    pub fn tag_bits(&self) -> u32 {
        self.front_end.map_or(0, |front_end| front_end.tag_bits)
    }

    /// Returns the number of blocks of the tree: the user's blocks and the PosMap blocks.
    pub fn tree_blocks(&self) -> u64 {
        self.front_end.map_or(self.blocks.into(), |FrontEnd { labels, trusted, .. }| {
            AddressSpace::new(self.blocks.into(), labels, trusted.into()).blocks()
        })
    }

    /// The front end in the core.
    ///
    /// # Panics
    /// If the configuration has no front end.
    pub fn front_end_parameters(&self) -> FreecursiveParameters {
        let FrontEnd { labels, label_bits, trusted, look_aside, tag_bits, .. } =
            self.front_end.expect("the configuration has a front end");
        FreecursiveParameters {
            capacity: self.blocks.into(),
            labels,
            trusted_positions: trusted.into(),
            look_aside,
            look_aside_ways: 1,
            positions: PositionStorage::Counters { bits: label_bits, tags: tag_bits > 0 },
            hits: TrustedHits::ReadThePath,
            max_batch: 1,
            tree: self.parameters(),
        }
    }

    /// Parameters of the bench's top, as `-G` of Verilator takes them.
    pub fn generics(&self) -> Vec<(&'static str, String)> {
        let mut generics = vec![
            ("Raw", u32::from(self.scheme == Scheme::Raw)),
            ("LeafLevel", self.leaf_level),
            ("BlocksPerBucket", self.blocks_per_bucket),
            ("EvictionRate", self.eviction_rate),
            ("StashBlocks", self.stash_blocks),
            ("Blocks", self.blocks),
            ("BlockBytes", self.block_bytes),
            ("BusBits", self.bus_bits),
            ("AesLanes", self.aes_lanes),
            ("AesDouble", u32::from(self.aes_double)),
            ("MaskBeats", self.mask_beats),
            ("TopLevels", self.top_levels),
            ("SubtreeLevels", self.subtree_levels),
            ("ScanLanes", self.scan_lanes),
            ("StallCycles", self.stall_cycles),
        ];
        if let Some(FrontEnd { labels, label_bits, trusted, look_aside, tag_bits, slot_cycles }) =
            self.front_end
        {
            generics.extend([
                ("FrontEnd", 1),
                ("Labels", labels),
                ("LabelBits", label_bits),
                ("Trusted", trusted),
                ("LookAside", look_aside),
                ("TagBits", tag_bits),
                ("SlotCycles", slot_cycles),
            ]);
        }
        let level_blocks: String =
            self.level_blocks.iter().rev().map(|blocks| format!("{blocks:02x}")).collect();
        let sized = ("LevelBlocks", format!("256'h{level_blocks}"));
        generics.into_iter().map(|(name, value)| (name, value.to_string())).chain([sized]).collect()
    }

    /// The parameters of this tree in the core.
    pub fn parameters(&self) -> BackendParameters {
        match self.scheme {
            Scheme::Raw => BackendParameters::Raw(RawParameters {
                capacity: self.tree_blocks(),
                block_bytes: self.tagged_bytes(),
                leaf_level: Level(self.leaf_level),
                top: Level(0),
                blocks_per_bucket: self.blocks_per_bucket,
                eviction_rate: self.eviction_rate,
                max_batch: 1,
                stash_bound: self.stash_blocks,
            }),
            Scheme::Path => BackendParameters::Path {
                buckets: BucketsByLevel::uniform(PathParameters {
                    capacity: self.tree_blocks(),
                    block_bytes: self.tagged_bytes(),
                    leaf_level: Level(self.leaf_level),
                    top: Level(0),
                    blocks_per_bucket: self.blocks_per_bucket,
                    max_batch: 1,
                    // The core counts a path that comes in, and a new block: an emergency is due where C blocks wait.
                    stash_bound: self.stash_blocks + (self.leaf_level + 1) * self.blocks_per_bucket,
                })
                .and_then(|buckets| buckets.with(&self.ranges()))
                .expect("a configuration of the bench is one of the core"),
                top: TreeTopParameters { levels: self.top_levels, ways: None },
            },
        }
    }

    /// The size of each level, as the core takes them.
    fn ranges(&self) -> Vec<(Level, Level, u32)> {
        (0..=self.leaf_level).map(|level| (Level(level), Level(level), self.places(level))).collect()
    }

    /// Returns the number of blocks of a bucket of a level.
    pub(crate) fn places(&self, level: u32) -> u32 {
        match self.level_blocks[level as usize] {
            0 => self.blocks_per_bucket,
            blocks => blocks.into(),
        }
    }

    /// Returns the number of bits of a leaf in an entry.
    pub(crate) fn leaf_bits(&self) -> u32 {
        self.leaf_level.max(1)
    }

    /// Returns the number of bits of a block's address in an entry.
    pub(crate) fn address_bits(&self) -> u32 {
        (u64::BITS - (self.tree_blocks() - 1).leading_zeros()).max(1)
    }

    /// Returns the number of bits of an entry.
    pub(crate) fn entry_bits(&self) -> u32 {
        1 + self.address_bits() + self.leaf_bits()
    }

    /// Returns the number of blocks of AES that hide a row of entries.
    pub(crate) fn row_chunks(&self) -> u32 {
        let below = if self.scheme == Scheme::Path { 2 } else { 0 };
        (self.blocks_per_bucket * self.entry_bits() + below).div_ceil(CHUNK_BITS)
    }

    /// Returns the number of bytes of a beat.
    pub fn beat_bytes(&self) -> usize {
        self.bus_bits as usize / 8
    }

    /// Returns the number of beats of a header.
    pub fn header_beats(&self) -> usize {
        (IV_BITS + self.row_chunks() * CHUNK_BITS).div_ceil(self.bus_bits) as usize
    }

    /// Returns the number of beats of a block.
    pub fn block_beats(&self) -> usize {
        self.block_bytes as usize / self.beat_bytes()
    }

    /// Returns the number of tags in a beat.
    pub(crate) fn tags_per_beat(&self) -> usize {
        self.bus_bits.checked_div(self.tag_bits()).unwrap_or(1) as usize
    }

    /// Returns the number of beats of a bucket's tags, as many in each level.
    pub fn tag_beats(&self) -> usize {
        if self.tag_bits() == 0 {
            0
        } else {
            (self.blocks_per_bucket as usize).div_ceil(self.tags_per_beat())
        }
    }

    /// The number of bus beats of one bucket at `level`.
    pub fn bucket_beats(&self, level: u32) -> usize {
        self.header_beats() + self.places(level) as usize * self.block_beats() + self.tag_beats()
    }

    /// The beats of the largest bucket. Each bucket has room for as many in memory.
    pub fn max_bucket_beats(&self) -> usize {
        self.header_beats() + self.blocks_per_bucket as usize * self.block_beats() + self.tag_beats()
    }

    /// Returns the size in bytes of a block in the core. It includes the block's tag, of which the controller stores
    /// the first bits.
    pub(crate) fn tagged_bytes(&self) -> u32 {
        self.block_bytes + if self.tag_bits() == 0 { 0 } else { TAG_BYTES as u32 }
    }

    /// The place of a bucket in memory, in bytes from the first.
    pub(crate) fn address(&self, bucket: u64) -> u64 {
        let bytes = (self.max_bucket_beats() * self.beat_bytes()) as u64;
        if self.subtree_levels < 2 {
            return (bucket - self.top_buckets()) * bytes;
        }
        let level = (bucket + 1).ilog2();
        let index = bucket + 1 - (1 << level);
        // The levels from a subtree's root down to here: the leaves' layer is full.
        let is_root =
            |at: u32| at == self.top_levels || (self.leaf_level + 1 - at).is_multiple_of(self.subtree_levels);
        let root = (self.top_levels..=level).rfind(|at| is_root(*at)).expect("the first level has roots");
        let below = (root + 1..=self.leaf_level).find(|at| is_root(*at)).unwrap_or(self.leaf_level + 1);
        let depth = level - root;
        let place = (1 << depth) - 1 + index % (1 << depth);
        let before = (1 << root) - (1 << self.top_levels);
        (before + (index >> depth) * ((1 << (below - root)) - 1) + place) * bytes
    }

    /// Returns the number of bytes of the tree in memory.
    pub fn tree_bytes(&self) -> u64 {
        (self.buckets() - self.top_buckets()) * (self.max_bucket_beats() * self.beat_bytes()) as u64
    }

    /// Returns the number of buckets of the tree top.
    pub(crate) fn top_buckets(&self) -> u64 {
        (1 << self.top_levels) - 1
    }

    /// Returns the number of beats that an access and its share of an eviction move: the lower bound of the bus.
    pub fn beats_of_access(&self) -> f64 {
        let levels = self.top_levels..=self.leaf_level;
        let buckets: usize = levels.clone().map(|level| self.bucket_beats(level)).sum();
        let (buckets, headers) = (buckets as f64, (levels.count() * self.header_beats()) as f64);
        match self.scheme {
            Scheme::Path => 2.0 * buckets,
            Scheme::Raw => buckets + headers + 2.0 * buckets / f64::from(self.eviction_rate),
        }
    }

    /// Returns the number of buckets of the tree.
    pub(crate) fn buckets(&self) -> u64 {
        (2 << self.leaf_level) - 1
    }
}
