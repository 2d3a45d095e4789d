//! Ring ORAM compared with a plain array and with its public schedule, for any timing of the store.

mod array;
mod filling;
mod incremental;
mod origins;
mod plans;
mod refusals;
pub(crate) mod setup;
mod slices;
mod snapshots;
mod stash;
