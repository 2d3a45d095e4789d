//! Sizes, seeds and answers of the programs: all of them, and only here.
//!
//! The answers were computed unpaged. They are the same on every machine and at every level of optimisation. Nothing
//! but integers and the exactly defined operations on floating-point numbers goes into them.

use crate::{avl_tree, lbm, picosat, random_writes, recommender, sha_256};

/// A size, and the answer at this size.
#[derive(Clone, Copy, Debug)]
pub struct Pinned<S> {
    /// The amount of a program's work.
    pub size: S,
    /// The line that the program prints.
    pub answer: &'static str,
}

/// The paper's size: 10,000 writes over 1,000 pages.
pub const RANDOM_WRITES: Pinned<random_writes::Size> =
    Pinned { size: random_writes::Size { pages: 1000, writes: 10_000, seed: 1 }, answer: "58755c38fc9b2b20" };

/// The paper's size: 1,024 pages. Hashed often enough that there is something to time.
pub const SHA_256: Pinned<sha_256::Size> = Pinned {
    size: sha_256::Size { pages: 1024, passes: 16, seed: 2 },
    answer: "cfb1f62d17e392f916e05ac7da1429ce5295f1f91847aa651a0decab890d505d",
};

/// The paper's size: 100,000 insertions and deletions.
pub const AVL_TREE: Pinned<avl_tree::Size> = Pinned {
    size: avl_tree::Size { changes: 100_000, keys: 1 << 16, seed: 3 },
    answer: "25647 18 14bcbe57edc1b628",
};

/// 32³ cells: two arrays of 4.75 MiB.
pub const LBM: Pinned<lbm::Size> = Pinned {
    size: lbm::Size { cells: [32, 32, 32], steps: 16, relaxation: 1.6, lid_speed: 0.05 },
    answer: "32768.000000 cdd6169def0299bc",
};

/// A model of 1.5 MB, and half a megabyte of ratings.
pub const RECOMMENDER: Pinned<recommender::Size> = Pinned {
    size: recommender::Size {
        users: 2000,
        items: 1000,
        ratings: 40_000,
        held_out: 2000,
        epochs: 6,
        asking: 20,
        seed: 5,
    },
    answer: "0.862389 6deed3aba9848574",
};

/// An instance that an assignment was planted in, with too few clauses to be hard: the solver's time goes into
/// propagation over much memory. At 15 resident pages every millisecond of solving is tens of thousands of faults. So a
/// much harder instance would keep a paged run busy for minutes.
pub const SATISFIABLE: Pinned<picosat::Size> = Pinned {
    size: picosat::Size { variables: 5000, clauses: 17_500, planted: true, seed: 1 },
    answer: "s SATISFIABLE",
};

/// An instance with many more clauses than the 4.27 a variable up to which random formulas can be satisfied.
pub const UNSATISFIABLE: Pinned<picosat::Size> = Pinned {
    size: picosat::Size { variables: 1000, clauses: 40_000, planted: false, seed: 7 },
    answer: "s UNSATISFIABLE",
};

/// The sizes with which the programs take a fraction of a second without optimisation.
pub mod small {
    use super::{Pinned, avl_tree, lbm, random_writes, recommender, sha_256};

    /// 100 writes over 60 pages.
    pub const RANDOM_WRITES: Pinned<random_writes::Size> =
        Pinned { size: random_writes::Size { pages: 60, writes: 100, seed: 1 }, answer: "472af903743e9c3d" };

    /// 20 pages.
    pub const SHA_256: Pinned<sha_256::Size> = Pinned {
        size: sha_256::Size { pages: 20, passes: 3, seed: 2 },
        answer: "b0794e6a842841868dae66bd1f57752390c39be6f98203cd600f2fbe92fa5cf4",
    };

    /// 2,000 insertions and deletions.
    pub const AVL_TREE: Pinned<avl_tree::Size> = Pinned {
        size: avl_tree::Size { changes: 2000, keys: 1000, seed: 3 },
        answer: "434 10 2281dd26c389c6a2",
    };

    /// 6 by 7 by 8 cells.
    pub const LBM: Pinned<lbm::Size> = Pinned {
        size: lbm::Size { cells: [6, 7, 8], steps: 10, relaxation: 1.6, lid_speed: 0.05 },
        answer: "336.000000 83c26d69037cbb81",
    };

    /// 200 users and 100 items.
    pub const RECOMMENDER: Pinned<recommender::Size> = Pinned {
        size: recommender::Size {
            users: 200,
            items: 100,
            ratings: 6000,
            held_out: 500,
            epochs: 2,
            asking: 3,
            seed: 5,
        },
        answer: "0.900498 bedc9f01fa39679f",
    };
}

/// The sizes with which the programs use much memory, to record traces: minutes under an emulator. No answer belongs to
/// them.
pub mod large {
    use super::{avl_tree, lbm, random_writes, recommender, sha_256};

    /// 128 MiB.
    pub const RANDOM_WRITES: random_writes::Size =
        random_writes::Size { pages: 1 << 15, writes: 1 << 20, seed: 1 };

    /// 128 MiB.
    pub const SHA_256: sha_256::Size = sha_256::Size { pages: 1 << 15, passes: 4, seed: 2 };

    /// Some two million nodes.
    pub const AVL_TREE: avl_tree::Size = avl_tree::Size { changes: 20_000_000, keys: 1 << 22, seed: 3 };

    /// 96³ cells: two arrays of 128 MiB.
    pub const LBM: lbm::Size = lbm::Size { cells: [96, 96, 96], steps: 16, relaxation: 1.6, lid_speed: 0.05 };

    /// A model of 75 MB, and 24 MB of ratings.
    pub const RECOMMENDER: recommender::Size = recommender::Size {
        users: 100_000,
        items: 50_000,
        ratings: 2_000_000,
        held_out: 2000,
        epochs: 6,
        asking: 20,
        seed: 5,
    };
}
