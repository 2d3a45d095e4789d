//! The parallel ORAM answers like an array, refuses what it must, and costs what it says.

mod array;
mod costs;
mod parameters;
mod refusals;
pub(crate) mod setup;
mod stash;
