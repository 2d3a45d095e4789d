//! Tests of the crate, on random loads.

mod equality;
mod load;
mod memory;
mod rules;
