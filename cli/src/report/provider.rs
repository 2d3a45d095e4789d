//! The requests to a store that its provider sees.

use ameles_store::{AccessCounts, MeterReader};

/// Readers of the requests to a store.
#[derive(Clone)]
pub struct Provider {
    /// The counts of requests and bytes.
    pub meter: MeterReader,
    /// The accessed places.
    pub access_counts: AccessCounts,
}
