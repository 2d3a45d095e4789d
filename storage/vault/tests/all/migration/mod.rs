//! A vault and its successor: nothing acknowledged is lost whenever the process dies, also while the one takes the
//! other's place; and the requests show at neither store.
//!
//! `AMELES_SIM_SEEDS=10000` runs more lives, `AMELES_SIM_SEED=…` one of them.

mod lifecycle;
mod name_model;
mod process;
mod promises;
mod serving;
mod traces;
