//! Circuit ORAM against a plain array, against its public schedule, and how full its stash gets.

mod array;
mod refusals;
pub(crate) mod setup;
mod snapshots;
mod stash;
