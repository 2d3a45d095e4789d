//! The judge of obliviousness: it tests whether a trace depends on the requests.
//!
//! It is given many independently seeded runs of two access sequences that could hardly differ more, with the same
//! batch sizes and the same driver. Two things are asked of every run, and both must hold for every adversary:
//!
//! 1. **Shape.** Every operation, its size, its order and its time follow from public facts. These are the parameters,
//!    the batch sizes, the random choices shown before, and the order in which the store finished. An [`Observer`]
//!    computes the public schedule independently and refuses every deviation. This is certain: it has no false alarms.
//! 2. **Choices.** The leaves and the slots are left. Each must be uniform and independent of everything else: of
//!    its predecessors, of the block's own earlier leaf, of what was asked. Statistical tests, each with a bound on its
//!    false alarms that is proven at every sample size (see [`statistics`]).
//!
//! A scheme without randomness has no choices. For those, [`judge_views`] asks instead that two programs show the
//! adversary the very same. The adversary is a parameter: a write-only ORAM passes for [`Adversary::Snapshot`], and its
//! reads reveal it to [`Adversary::Full`].
//!
//! **False alarms.** A test alarms below `2^-33`. A suite may hold [`MAX_TESTS`] tests of sound schemes, so that it
//! alarms falsely with a probability of at most `2^-19`. Seeds are fixed: a suite that passed passes again.

mod alternating;
mod bounds;
pub mod circuit;
pub mod freecursive;
mod front_end;
pub mod hierarchical;
pub mod judge;
pub mod judgement;
pub mod leaves;
pub mod likelihood;
pub mod limits;
pub mod observer;
pub mod opam;
pub mod pace;
pub mod parallel;
pub mod partitions;
pub mod path;
pub mod permuted;
pub mod pool;
pub mod programs;
pub mod raw;
pub mod reverse_bits;
pub mod ring;
mod ring_snapshot;
mod ring_tree;
mod run_sets;
pub mod schedule;
pub mod script;
pub mod side_by_side;
mod slots;
mod sorting;
pub mod statistics;
pub mod trivial;
pub mod views;

pub use judge::{judge, judge_and_pool};
pub use judgement::{Judgement, MAX_TESTS};
pub use likelihood::{Patterns, judge_likelihood};
pub use limits::Limit;
pub use observer::{Adversary, Observer};
pub use pace::{Pace, run_script};
pub use pool::{EvictionRate, Pool, Power};
pub use programs::Program;
pub use run_sets::Trial;
pub use script::{Batches, Sequence};
pub use side_by_side::judge_side_by_side;
pub use statistics::{ALARM_LOG2, Finding};
pub use views::judge_views;
