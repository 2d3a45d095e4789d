//! The room that is kept on the trusted disk for when it is full, as it is stated.

use crate::config::size::Size;
use lethe_vault::VaultParameters;
use serde::{Deserialize, Serialize};
use std::fmt;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReserveSummary {
    /// Its bytes.
    pub bytes: Size,
    /// The reads that go on from it at least.
    pub reads: u64,
}

impl ReserveSummary {
    /// The room of a vault with these parameters.
    pub fn of(parameters: &VaultParameters) -> Self {
        let sizes = parameters.reserve();
        ReserveSummary { bytes: Size(sizes.whole), reads: sizes.reads(sizes.whole) }
    }
}

impl fmt::Display for ReserveSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReserveSummary { bytes, reads } = self;
        write!(
            f,
            "{bytes} of the trusted disk: when that is full, writes get 507, and at least {reads} reads go on"
        )
    }
}
