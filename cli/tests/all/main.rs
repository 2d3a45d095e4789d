//! The program's promises: its command line, and its doors over one vault.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod cli;
mod servers;
