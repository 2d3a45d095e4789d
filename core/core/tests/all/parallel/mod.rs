//! The parallel ORAM answers like an array, refuses what it must, and costs what it says.

mod costs;
mod parameters;
mod rounds;
pub(crate) mod setup;
mod stash;
