//! RAW ORAM against a plain array, against its public schedule, and the filling of its stash.

mod costs;
pub(crate) mod setup;
mod snapshots;
mod stash;
mod tampering;
