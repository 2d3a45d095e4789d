//! Tests of the program: its command line, and its S3 and Swift servers over one vault.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod cli;
mod servers;
