//! The changes of untrusted memory that a watcher sees from fault to fault: as a list, as a picture, as a verdict.

mod output;
mod picture;
mod seen;
pub(super) mod verdict;

pub(super) use output::Outputs;
pub(super) use seen::{Sight, Watched};
