//! The six programs that the paper on oblivious demand paging measures with, as ordinary programs.
//!
//! They are unaware of paging and use the heap as any program does. A single binary, `ameles-programs NAME`, holds five
//! of them; the sixth is the real solver `picosat`, for which [`picosat`] makes the instances. [`PROGRAMS`] says how
//! each is started and what it must answer, so that a caller that runs them paged notices damaged memory.
//!
//! They represent the paper's programs (section 5) and are not the same code, which its authors did not publish with
//! it. All choices that the paper leaves open are in [`sizes`].

pub mod avl_tree;
mod checksum;
pub mod lbm;
pub mod picosat;
mod program;
mod random;
pub mod random_writes;
pub mod recommender;
pub mod sha_256;
pub mod sizes;

pub use program::{Instance, PROGRAMS, Program, Run, Start, WrongAnswer, run, run_large, run_small};
