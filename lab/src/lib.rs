//! Measures Ameles: every figure with a bare baseline of the same run, and the trusted memory used.
#![forbid(unsafe_code)]

mod add_fields;
mod bar_chart;
pub mod bench;
pub mod cosbench;
#[cfg(target_os = "linux")]
pub mod enclave;
mod heading;
mod line_chart;
mod markdown;
#[cfg(target_os = "linux")]
pub mod paging;
pub mod plan;
pub mod prices;
pub mod processor;
pub mod report;
pub mod sizes;
pub mod svg;
pub mod thesis;
pub mod virtual_time;
