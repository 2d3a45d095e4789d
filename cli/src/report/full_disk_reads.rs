//! The reads that are still answered when a disk is full. For the trusted disk they depend on its reserved space, for
//! the store on the scheme.

use crate::config::size::Size;
use ameles_vault::VaultParameters;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The space reserved on the trusted disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReserveSummary {
    /// The bytes of the reserve.
    pub bytes: Size,
    /// The minimum number of reads that the reserve allows.
    pub reads: u64,
    /// The reads that are answered when the store is full.
    pub on_full_store: ReadsOnFullStore,
}

/// The reads that are answered when the store is full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadsOnFullStore {
    /// The usual number.
    pub usual: u64,
    /// The maximum number.
    pub max: u64,
}

impl ReadsOnFullStore {
    /// Returns the reads of a vault with these parameters.
    pub fn of(parameters: &VaultParameters) -> Self {
        let stated = parameters.scheme.reads_on_a_full_store();
        ReadsOnFullStore { usual: *stated.start(), max: *stated.end() }
    }
}

impl fmt::Display for ReadsOnFullStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadsOnFullStore { max: 0, .. } => f.write_str("reads get 503, because each of them writes"),
            ReadsOnFullStore { usual, max } => {
                write!(
                    f,
                    "reads are answered for usually {usual} more accesses, at most {max}, and get 503 then"
                )
            }
        }
    }
}

impl ReserveSummary {
    /// Returns the reserve of a vault with these parameters.
    pub fn of(parameters: &VaultParameters) -> Self {
        let sizes = parameters.reserve();
        ReserveSummary {
            bytes: Size(sizes.whole),
            reads: sizes.reads(sizes.whole),
            on_full_store: ReadsOnFullStore::of(parameters),
        }
    }

    /// Returns the lines about full disks, each with its name.
    pub fn lines(&self) -> [(&'static str, String); 2] {
        let ReserveSummary { bytes, reads, on_full_store } = self;
        let trusted = format!(
            "{bytes} of the trusted disk: when it is full, writes get 507, and at least {reads} reads are answered"
        );
        [("in reserve", trusted), ("a full store", format!("writes get 507, and {on_full_store}"))]
    }
}
