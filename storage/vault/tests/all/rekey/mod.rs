//! A vault whose master key is changed in place. Only the new key opens it, and in the end the old one opens nothing
//! that is left.

mod beyond_last_slot;
mod completion;
mod crashes;
mod openable_objects;
pub(crate) mod owner;
mod progress;
mod refusals;
mod store_journal;
mod traces;
pub(crate) mod write_log;
