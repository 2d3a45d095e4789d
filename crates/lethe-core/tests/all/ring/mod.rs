//! Ring ORAM against a plain array and against its public schedule, whatever the store's timing.

mod array;
mod refusals;
mod setup;
mod snapshots;
mod stash;
