//! Measures Lethe: every figure beside a bare baseline of the same run, and the trusted memory that it took.
#![forbid(unsafe_code)]

pub mod bench;
#[cfg(target_os = "linux")]
pub mod paging;
pub mod svg;
