//! The program as its users run it: what it refuses, how it says so, and what it leaves behind.

mod demonstration;
mod desk;
mod leftovers;
mod migrate;
mod openings;
mod output;
mod served;
mod usage;
mod users;
