//! The scheme of the main tree, and what of it is in memory.

/// The scheme of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TreeScheme {
    /// Path ORAM: each access reads and writes all blocks of its path.
    Path,
    /// RAW ORAM: an access reads all blocks of its path and writes the headers of its buckets. After every A of them
    /// an eviction reads and writes a path. The top levels are part of the stash.
    Raw {
        /// A, the number of accesses for each eviction.
        eviction_rate: u32,
        /// The place of the headers.
        headers: Headers,
    },
    /// Ring ORAM: an access reads a slot of each bucket of its path. After every A accesses an eviction reads Z slots
    /// of each bucket of a path, and writes all slots. A bucket that was read too often is rewritten before. The top
    /// levels are part of the stash.
    Ring {
        /// A, the number of accesses for each eviction.
        eviction_rate: u32,
        /// S, the number of reads of a bucket between two writes of it, and one more.
        reads: u32,
        /// The number of slots of a bucket: at most Z + S. With fewer the last reads may take blocks in place of
        /// dummies (String ORAM).
        slots: u32,
        /// The place of the metadata. In memory they are read before the slots that they name, and an access writes
        /// a part of them.
        metadata: Headers,
    },
}

impl TreeScheme {
    /// RAW ORAM with the paper's A, and its headers in memory.
    pub const RAW: Self = TreeScheme::Raw { eviction_rate: 5, headers: Headers::InMemory };

    /// Ring ORAM with A = 8 and S = 12, and buckets of twelve slots. Its paper has Z = 8 for that A. The metadata are
    /// in memory.
    pub const RING: Self =
        TreeScheme::Ring { eviction_rate: 8, reads: 12, slots: 12, metadata: Headers::InMemory };

    /// Slots in memory of a bucket of that capacity, with RAW ORAM's header.
    pub(crate) fn slots(self, blocks: u32) -> u32 {
        match self {
            TreeScheme::Ring { slots, .. } => slots,
            TreeScheme::Raw { headers: Headers::InMemory, .. } => blocks + 1,
            TreeScheme::Path | TreeScheme::Raw { .. } => blocks,
        }
    }
}

/// The place of RAW ORAM's headers, or of Ring ORAM's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Headers {
    /// The headers are in memory: in RAW ORAM a bucket has a block more, before the others.
    InMemory,
    /// The headers are on the trusted side.
    OnChip,
}
