//! Traces of real programs that replace those of SPEC CPU 2017 and PARSEC.
//!
//! IR-ORAM was measured on traces of commercial programs, which cannot be published. These programs are freely
//! available. They were chosen because their misses are like those of its Table II. [`programs`] is the table,
//! [`record`] records the traces, and [`short`] has short ones.

pub mod digests;
pub mod error;
pub mod inputs;
pub mod measure;
pub mod notice;
pub mod programs;
pub mod record;
pub mod report;
pub mod short;
