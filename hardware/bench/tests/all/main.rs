//! The controller of `hardware/`, simulated, compared with the core. `cargo xtask hardware test` builds the libraries
//! that these tests load and runs them.

mod cosimulation;
mod faults;
mod figures;
mod front_end;
mod mutants;
mod oblivious;
mod pacer;
mod refusals;
mod setup;
mod tags;
