//! The scheme of the main tree, and what of it is in memory.

/// The scheme of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeScheme {
    /// Path ORAM: each access reads and writes all blocks of its path.
    Path,
    /// RAW ORAM: an access reads all blocks of its path and writes the headers of its buckets. After every A of them an eviction
    /// reads and writes a path. The top levels are part of the stash.
    Raw {
        /// A, accesses for each eviction.
        eviction_rate: u32,
        /// The place of the headers.
        headers: Headers,
    },
}

impl TreeScheme {
    /// RAW ORAM with the paper's A, and its headers in memory.
    pub const RAW: Self = TreeScheme::Raw { eviction_rate: 5, headers: Headers::InMemory };
}

/// The place of RAW ORAM's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers {
    /// In memory: a bucket has a block more, before the others.
    InMemory,
    /// On the trusted side.
    OnChip,
}
