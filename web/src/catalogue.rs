//! The schemes that the page offers.

use crate::example_schemes;
use crate::instance::{Instance, PositionMapKind, Setting};
use serde::Serialize;

/// The minimum number of blocks of a scheme.
pub const MIN_BLOCKS: u64 = 8;
/// The maximum number of blocks of a scheme: a page draws no more.
pub const MAX_BLOCKS: u64 = 1024;
/// The maximum number of accesses in a batch.
pub const MAX_BATCH: u32 = 8;

/// The adversary that a scheme protects against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Adversary {
    /// Sees every read and every write.
    Full,
    /// Sees the changes between two moments, but no reads.
    Snapshot,
    /// Learns its secret: the scheme hides too little.
    Unopposed,
}

/// A scheme of the page.
#[derive(Clone, Copy, Serialize)]
pub struct SchemeInfo {
    /// The word for the scheme in requests.
    pub name: &'static str,
    /// The name of the scheme in prose.
    pub title: &'static str,
    /// The paper of the scheme.
    pub source: &'static str,
    /// A summary in a sentence or two.
    pub about: &'static str,
    /// The adversary against which the scheme protects.
    pub adversary: Adversary,
    /// The word for the blocks that it stores on the trusted side; empty if it stores none.
    pub stash: &'static str,
    /// True if its position map may be recursive.
    pub recursive: bool,
    #[serde(skip)]
    make: fn(Setting) -> Result<Instance, String>,
}
/// All schemes, in the order of the page.
pub const SCHEMES: [SchemeInfo; 16] = [
    SchemeInfo {
        name: "path",
        title: "Path ORAM",
        source: "Stefanov and others, CCS 2013",
        about: "Blocks lie in a tree of buckets. An access reads one path from the root to a leaf, gives \
                the block a new random leaf, and writes the path back.",
        adversary: Adversary::Full,
        stash: "stash",
        recursive: true,
        make: example_schemes::path,
    },
    SchemeInfo {
        name: "ring",
        title: "Ring ORAM",
        source: "Ren and others, USENIX Security 2015",
        about: "An access reads one slot of each bucket of a path, the block's or a dummy's. Every third \
                access a whole path is rewritten.",
        adversary: Adversary::Full,
        stash: "stash",
        recursive: true,
        make: example_schemes::ring,
    },
    SchemeInfo {
        name: "circuit",
        title: "Circuit ORAM",
        source: "Wang, Chan and Shi, CCS 2015",
        about: "An access takes its block off a path. Two further paths are then evicted, whose blocks go \
                down one at a time.",
        adversary: Adversary::Full,
        stash: "stash",
        recursive: true,
        make: example_schemes::circuit,
    },
    SchemeInfo {
        name: "square-root",
        title: "Square-Root ORAM",
        source: "Goldreich and Ostrovsky, JACM 1996, section 4",
        about: "Memory is permuted in secret. A block that was read is stored in a shelter, and a dummy is \
                read in its place the next time. When the shelter is full, everything is permuted again.",
        adversary: Adversary::Full,
        stash: "",
        recursive: false,
        make: example_schemes::square_root,
    },
    SchemeInfo {
        name: "practical-os",
        title: "PracticalOS",
        source: "Goodrich and others, CODASPY 2012",
        about: "Square-Root ORAM whose shelter is on the trusted side: an access reads one slot and writes \
                none.",
        adversary: Adversary::Full,
        stash: "cache",
        recursive: false,
        make: example_schemes::practical_os,
    },
    SchemeInfo {
        name: "hierarchical",
        title: "Hierarchical ORAM",
        source: "Goldreich and Ostrovsky, JACM 1996, section 5",
        about: "Hash tables, each twice as large as the one above it. A block that was read goes to the top \
                and sinks.",
        adversary: Adversary::Full,
        stash: "",
        recursive: false,
        make: example_schemes::hierarchical,
    },
    SchemeInfo {
        name: "curious",
        title: "CURIOUS",
        source: "Bindschaedler and others, CCS 2015",
        about: "Several trees, each a separate partition. An access reads a path of its block's \
                partition, and gives the block a new random one. A cache holds it until that is written.",
        adversary: Adversary::Full,
        stash: "eviction cache and stashes of the trees",
        recursive: false,
        make: example_schemes::curious,
    },
    SchemeInfo {
        name: "oblivistore",
        title: "ObliviStore",
        source: "Stefanov and Shi, S&P 2013",
        about: "Partitions of levels, each twice as large as the one above it. An access reads a slot of each \
                level that holds something. A cache holds the block until a level of its new partition is rebuilt.",
        adversary: Adversary::Full,
        stash: "eviction cache",
        recursive: false,
        make: example_schemes::oblivistore,
    },
    SchemeInfo {
        name: "parallel",
        title: "Parallel ORAM (Subtree-OPRAM)",
        source: "Boyle, Chung and Pass; Chen, Lin and Tessaro, both TCC 2016; Chan and Shi, TCC 2017",
        about: "Processors share one tree: each has a subtree and its stash. In a round each asks for a block. They sort \
                the requests, so that one speaks for all that want its block, and send each other what they need.",
        adversary: Adversary::Full,
        stash: "stash",
        recursive: false,
        make: example_schemes::parallel,
    },
    SchemeInfo {
        name: "trivial",
        title: "Trivial ORAM",
        source: "Goldreich and Ostrovsky, JACM 1996, section 1.2",
        about: "Every access reads everything and writes everything back.",
        adversary: Adversary::Full,
        stash: "",
        recursive: false,
        make: example_schemes::trivial,
    },
    SchemeInfo {
        name: "root",
        title: "Root ORAM",
        source: "Wagh, Cuff and Mittal, PoPETs 2018",
        about: "Path ORAM whose blocks may stay near their old leaf. It is differentially private and not \
                oblivious: here with ε = 3 and four subtrees.",
        adversary: Adversary::Unopposed,
        stash: "stash",
        recursive: false,
        make: example_schemes::root,
    },
    SchemeInfo {
        name: "detworam",
        title: "DetWoORAM",
        source: "Roche and others, CCS 2017",
        about: "Writes go round a holding area, in an order that depends on their count alone. Reads are \
                not hidden.",
        adversary: Adversary::Snapshot,
        stash: "",
        recursive: false,
        make: example_schemes::detworam,
    },
    SchemeInfo {
        name: "eager",
        title: "Eager DetWoORAM",
        source: "Chakravarty and Panda, 2021, section 4.1",
        about: "DetWoORAM whose reads for the next write are made ahead, and whose writes are made \
                afterwards.",
        adversary: Adversary::Snapshot,
        stash: "preload buffer",
        recursive: false,
        make: example_schemes::eager,
    },
    SchemeInfo {
        name: "opam",
        title: "OPAM (broken)",
        source: "Aga and Narayanasamy, ISCA 2019; attacked by Roy and others, WOOT 2020",
        about: "Moves one slot of each bucket of a path. The slots that it chooses tell where blocks are.",
        adversary: Adversary::Unopposed,
        stash: "stash",
        recursive: false,
        make: example_schemes::opam,
    },
    SchemeInfo {
        name: "plain",
        title: "Plain store",
        source: "A baseline",
        about: "Block n is in slot n. Encryption hides its content, and not that it is accessed.",
        adversary: Adversary::Unopposed,
        stash: "",
        recursive: false,
        make: example_schemes::plain,
    },
    SchemeInfo {
        name: "own",
        title: "Your own (web/src/own_scheme.rs)",
        source: "Yours",
        about: "A scheme over the library's trait Store, drawn by the same page. As it comes it permutes \
                memory once: the provider sees which accesses are to the same block.",
        adversary: Adversary::Unopposed,
        stash: "",
        recursive: false,
        make: example_schemes::own,
    },
];

/// Creates the scheme of a name.
///
/// # Errors
/// The scheme is unknown, or cannot have this size, batch or position map. The text says what to do.
pub fn make(name: &str, setting: Setting) -> Result<Instance, String> {
    let known = || SCHEMES.map(|scheme| scheme.name).join(", ");
    let scheme = SCHEMES.iter().find(|scheme| scheme.name == name);
    let scheme = scheme.ok_or_else(|| format!("there is no scheme `{name}`: choose one of {}", known()))?;
    let capacity = setting.capacity;
    if !(MIN_BLOCKS..=MAX_BLOCKS).contains(&capacity) {
        return Err(format!("{capacity} blocks: choose from {MIN_BLOCKS} to {MAX_BLOCKS}"));
    }
    let batch = setting.batch;
    if !(1..=MAX_BATCH).contains(&batch) {
        return Err(format!("{batch} accesses at a time: choose from 1 to {MAX_BATCH}"));
    }
    if setting.map == PositionMapKind::Recursive && !scheme.recursive {
        let can = SCHEMES.iter().filter(|scheme| scheme.recursive).map(|scheme| scheme.name);
        let can = can.collect::<Vec<_>>().join(", ");
        return Err(format!("`{name}` has no recursive position map: choose one of {can}, or a trusted map"));
    }
    (scheme.make)(setting)
}
