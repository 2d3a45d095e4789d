//! The changes of untrusted memory that a watcher sees from fault to fault: as a list, as a picture, as a verdict.

mod observations;
mod output;
mod picture;
pub(super) mod verdict;

pub(super) use observations::{Observation, Observations};
pub(super) use output::Outputs;
