//! Ring ORAM against a plain array and against its public schedule, whatever the store's timing.

mod array;
mod filling;
mod incremental;
mod plans;
mod refusals;
pub(crate) mod setup;
mod snapshots;
mod stash;
