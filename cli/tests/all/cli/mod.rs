//! The program as its users run it: its refusals, its messages, and the files that it leaves behind.

mod demonstration;
mod desk;
mod figures;
mod lab;
mod leftovers;
mod migrate;
mod openings;
mod output;
mod plan;
mod rekey;
#[path = "../../support/s3_client.rs"]
mod s3_client;
mod served;
mod usage;
mod users;
