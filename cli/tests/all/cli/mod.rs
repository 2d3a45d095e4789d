//! The program as its users run it: its refusals, its messages and its files.

mod cleanup;
mod convert;
mod demonstration;
mod figures;
mod harness;
mod lab;
mod migrate;
mod open;
mod output;
mod plan;
mod rotate_key;
#[path = "../../support/s3_client.rs"]
mod s3_client;
mod server;
mod usage;
mod users;
