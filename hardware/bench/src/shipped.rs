//! The configurations that the documentation shows and measures.

use crate::configuration::{Configuration, Scheme};

impl Configuration {
    /// All of them, each with a name. The lanes of AES do not count: the stash is the same for all of them.
    pub const SHIPPED: [(&'static str, Configuration); 5] = [
        ("Path ORAM Z = 4", Configuration::paper(Scheme::Path)),
        ("RAW ORAM Z = A = 5", Configuration::paper(Scheme::Raw)),
        ("RAW ORAM Z = A = 5, front end", Configuration::paper(Scheme::Raw).with_front_end()),
        ("Path ORAM Z = 4, blocks of 4 KiB", Configuration::paper(Scheme::Path).with_large_blocks()),
        ("RAW ORAM Z = A = 5, blocks of 4 KiB", Configuration::paper(Scheme::Raw).with_large_blocks()),
    ];

    /// This configuration with the same bytes in blocks of 4 KiB.
    pub const fn with_large_blocks(self) -> Self {
        Configuration {
            block_bytes: 4096,
            leaf_level: self.leaf_level - 6,
            blocks: self.blocks / (4096 / self.block_bytes),
            ..self
        }
    }
}
