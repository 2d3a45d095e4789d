//! A vault and its successor. Nothing acknowledged is lost whenever the process is killed, also during the takeover.
//! Neither store reveals the clients' requests.
//!
//! `AMELES_SIM_SEEDS=10000` runs more lifecycles, and `AMELES_SIM_SEED=…` runs one of them.

mod lifecycle;
mod name_model;
mod process;
mod promises;
mod serving;
mod traces;
