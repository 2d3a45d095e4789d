//! The reasons why a machine is refused.

use crate::small_tree::SmallTreeError;
use ameles_core::schemes::freecursive::FreecursiveParametersError;
use ameles_core::schemes::path::PathParametersError;
use ameles_dram::DramError;
use ameles_processor::cache::CacheShape;

/// The longest T, in cycles or instructions: three milliseconds in cycles.
pub(crate) const MAX_REST: u64 = 10_000_000;

/// The reason why a machine is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The tree is refused.
    #[error("the tree is impossible: {0}")]
    Tree(#[from] PathParametersError),
    /// The front end refuses its configuration.
    #[error("the front end is impossible: {0}")]
    FrontEnd(#[from] FreecursiveParametersError),
    /// The memory is refused, or the tree does not fit into it.
    #[error("the memory is impossible: {0}")]
    Memory(#[from] DramError),
    /// The cache is refused.
    #[error(transparent)]
    Cache(#[from] CacheShape),
    /// The tree has too few or too many levels.
    #[error(
        "a tree of {levels} levels with {top} of them on the trusted side: choose 2 to 32 levels, and fewer on the trusted side"
    )]
    Levels {
        /// The number of levels of the tree.
        levels: u32,
        /// The number of levels on the trusted side.
        top: u32,
    },
    /// Paths would have to begin faster than the memory can move them.
    #[error("a path every {cycles} cycles is too fast: the bus alone needs {needed} for a path")]
    TooFast {
        /// T.
        cycles: u64,
        /// The number of cycles for which a path keeps the data bus busy.
        needed: u64,
    },
    /// Paths would hardly ever begin.
    #[error("a T of {rest} {unit} is too long: choose at most {MAX_REST}")]
    TooSlow {
        /// T.
        rest: u64,
        /// The unit of T, in words.
        unit: &'static str,
    },
    /// Dummies would follow without end.
    #[error("a T of 0 instructions lets the processor fetch none between two dummies: choose 1 or more")]
    NoInstructions,
    /// Sizes are given for levels that are not in memory.
    #[error(
        "levels {first} to {last} are not a range of levels in memory: choose {top} ≤ first ≤ last ≤ {leaf_level}"
    )]
    SizedLevels {
        /// The first level of the range.
        first: u32,
        /// The last level of the range.
        last: u32,
        /// The first level in memory.
        top: u32,
        /// The level of the leaves.
        leaf_level: u32,
    },
    /// Blocks cannot have this number of lines.
    #[error("blocks of {lines} lines are impossible: choose a power of two, 1 to 64")]
    BlockLines {
        /// The number of lines of a block.
        lines: u64,
    },
    /// A PosMap block cannot have so many counters.
    #[error("PosMap blocks cannot have {labels} labels: choose 2 to {max}")]
    Labels {
        /// X, the number of positions in a PosMap block.
        labels: u32,
        /// The maximum number of labels.
        max: u64,
    },
    /// Lines are written back instead of dummies, and there are no dummies.
    #[error("early write-backs replace dummies, and without a rate there are none: choose a rate")]
    NoDummies,
    /// The blocks that have no room in untrusted memory do not fit the trusted side either.
    #[error(
        "the tree cannot hold its blocks, however many background evictions come: make the buckets larger"
    )]
    Contents,
    /// The small tree is refused.
    #[error("the small tree is impossible: {0}")]
    SmallTree(#[from] SmallTreeError),
    /// There are too few blocks for the tags of the small tree.
    #[error(
        "{blocks} blocks are too few for {tags} tags of a small tree: choose a quarter of the blocks or less"
    )]
    Tags {
        /// The number of blocks of the user.
        blocks: u64,
        /// The number of tags.
        tags: u64,
    },
    /// A tree of another scheme is combined with what is Path ORAM's.
    #[error(
        "buckets by level, a tree-top index, a small tree, Fork Path and PageORAM need Path ORAM; Fork Path and PageORAM \
         exclude the small tree: leave out what conflicts"
    )]
    PathAlone,
    /// A number of Fork Path is out of its range.
    #[error("Fork Path with {value} for {what}: choose {min} to {max}")]
    ForkPath {
        /// The name of the setting.
        what: &'static str,
        /// The value of the setting.
        value: u32,
        /// The minimum of the setting.
        min: u32,
        /// The maximum of the setting.
        max: u32,
    },
    /// Fork Path is combined with an option for which it is not built.
    #[error("Fork Path cannot be combined with early write-backs or delayed remapping: leave these out")]
    ForkPathAlone,
    /// Too few or too many requests of Palermo are in flight.
    #[error("{requests} requests in flight: give 1 to 64")]
    RequestsInFlight {
        /// The number of requests in flight.
        requests: usize,
    },
    /// AB-ORAM's small buckets have too few or too many slots.
    #[error(
        "buckets of {slots} slots near the leaves: give more than {blocks} and at most {max}, and no rate of 0"
    )]
    SmallSlots {
        /// The number of slots.
        slots: u32,
        /// Z.
        blocks: u32,
        /// Z + S.
        max: u32,
    },
    /// A small tree is combined with what it is not built for.
    #[error(
        "a small tree cannot be combined with early write-backs or delayed remapping: leave out one of the two"
    )]
    SmallTreeAlone,
}
