//! A vault and its successor: nothing acknowledged is lost whenever the process is killed, also during the takeover;
//! and the requests are not visible at either store.
//!
//! `AMELES_SIM_SEEDS=10000` runs more lifecycles, `AMELES_SIM_SEED=…` one of them.

mod lifecycle;
mod name_model;
mod process;
mod promises;
mod serving;
mod traces;
