//! A vault whose master key is changed in place: the new key alone opens it, and at the end the old one opens nothing that
//! is left.

mod beyond;
mod counted;
mod ends;
mod killed;
mod opened;
mod owner;
mod refused;
mod store_journal;
mod traces;
