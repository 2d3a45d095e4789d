//! The reads that go on when a disk is full, as they are stated: for the trusted one by the room that is kept there, for the
//! store by the scheme.

use crate::config::size::Size;
use ameles_vault::VaultParameters;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The room that is kept on the trusted disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReserveSummary {
    /// Its bytes.
    pub bytes: Size,
    /// The reads that go on from it at least.
    pub reads: u64,
    /// The reads that go on when the store is full.
    pub on_full_store: ReadsOnFullStore,
}

/// The reads that go on when the store is full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadsOnFullStore {
    /// As a rule as many as this.
    pub usual: u64,
    /// Never more than this.
    pub max: u64,
}

impl ReadsOnFullStore {
    /// Those of a vault with these parameters.
    pub fn of(parameters: &VaultParameters) -> Self {
        let stated = parameters.scheme.reads_on_a_full_store();
        ReadsOnFullStore { usual: *stated.start(), max: *stated.end() }
    }
}

impl fmt::Display for ReadsOnFullStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadsOnFullStore { max: 0, .. } => f.write_str("reads get 503, for each writes there"),
            ReadsOnFullStore { usual, max } => {
                write!(f, "reads go on for {usual} accesses as a rule, {max} at the most, and get 503 then")
            }
        }
    }
}

impl ReserveSummary {
    /// The room of a vault with these parameters.
    pub fn of(parameters: &VaultParameters) -> Self {
        let sizes = parameters.reserve();
        ReserveSummary {
            bytes: Size(sizes.whole),
            reads: sizes.reads(sizes.whole),
            on_full_store: ReadsOnFullStore::of(parameters),
        }
    }

    /// Lines on full disks for the vault's owner, each with its name.
    pub fn lines(&self) -> [(&'static str, String); 2] {
        let ReserveSummary { bytes, reads, on_full_store } = self;
        let trusted = format!(
            "{bytes} of the trusted disk: when that is full, writes get 507, and at least {reads} reads go on"
        );
        [("in reserve", trusted), ("a full store", format!("writes get 507, and {on_full_store}"))]
    }
}
