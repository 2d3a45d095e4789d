//! The rules, from one command to the next.
//!
//! It knows the cycle from which on each bank, rank and bus would take a command. It also knows the oldest request of
//! each bank, and the oldest one for the open row. So the next command is the least of a few numbers, and the cycles
//! before it, in which nothing happens, cost nothing.

mod banks;
mod channel;
mod queue;

pub use channel::Fast;
