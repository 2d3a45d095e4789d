//! The rules, from one command to the next.
//!
//! Of each bank, rank and bus it is known from which cycle on it would take a command, and of each bank the oldest
//! request and the oldest one for the open row. So the next command is the least of a few numbers, and the
//! cycles before it, in which nothing happens, cost nothing.

mod banks;
mod channel;
mod queue;

pub use channel::Fast;
