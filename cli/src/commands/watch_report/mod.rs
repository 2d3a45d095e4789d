//! Reports on the changes of untrusted memory from fault to fault: a list, a picture and a verdict.

mod observations;
mod output;
mod picture;
pub(super) mod verdict;

pub(super) use observations::{Observation, Observations};
pub(super) use output::{WatchFlags, title};
