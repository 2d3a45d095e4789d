//! A vault whose master key is changed in place: the new key alone opens it, and at the end the old one opens nothing that
//! is left.

mod beyond_last_slot;
mod completion;
mod crashes;
mod openable_objects;
mod owner;
mod progress;
mod refusals;
mod store_journal;
mod traces;
