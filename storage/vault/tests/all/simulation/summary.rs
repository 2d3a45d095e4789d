//! The counts of what runs did.

use crate::counts::counts;
use ameles_store::ProviderCounts;

counts! {
    /// The counts of what a run did, for the run as a whole and for the test that it did enough.
    pub struct Summary {
        /// The number of times that the vault was open.
        pub openings: u64,
        /// The number of openings that a crash cut off before the vault was open.
        pub openings_cut_off: u64,
        /// The number of kills and power losses.
        pub crashes: u64,
        /// The number of power failures in the middle of a change of the disk.
        pub power_failures: u64,
        /// The number of openings that ended because the store could not be reached.
        pub unavailable: u64,
        /// The number of openings that ended because the disk was full.
        pub disk_full: u64,
        /// The number of clean closes.
        pub closed: u64,
        /// The number of writes that were acknowledged.
        pub acknowledged: u64,
        /// The number of reads that recoveries repeated.
        pub repeated: u64,
        /// The number of copies of the store that were restored.
        pub restored: u64,
        /// The number of copies of the trusted disk that were displaced by the gateway that continues.
        pub displaced: u64,
        /// The counts of what a provider's limits did.
        pub provider: ProviderCounts,
    }
}
