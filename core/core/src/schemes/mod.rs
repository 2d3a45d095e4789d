//! The schemes, one file each.

pub mod circuit;
pub mod curious;
pub mod detworam;
pub mod eager;
pub mod freecursive;
pub mod hierarchical;
pub mod oblivistore;
pub mod opam;
pub mod parallel;
pub mod path;
pub mod plain;
pub mod practical_os;
pub mod raw;
pub mod rho;
pub mod ring;
pub mod root;
pub mod square_root;
pub mod trivial;
pub mod write_schedule;
