//! The counts of what runs did.

use ameles_store::ProviderCounts;

/// The counts of what a run did, for the run as a whole and for the test that it did enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Times that the vault was open.
    pub openings: u64,
    /// Openings that a crash cut off before the vault was open.
    pub openings_cut_off: u64,
    /// Kills and power losses.
    pub crashes: u64,
    /// Power failures in the middle of a change of the disk.
    pub power_failures: u64,
    /// Openings that ended because the store could not be reached.
    pub unavailable: u64,
    /// Openings that ended because the disk was full.
    pub disk_full: u64,
    /// Clean closes.
    pub closed: u64,
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// Reads that recoveries repeated.
    pub repeated: u64,
    /// Copies of the store that were restored.
    pub restored: u64,
    /// Copies of the trusted disk that were displaced by the gateway that continues.
    pub displaced: u64,
    /// The counts of what a provider's limits did.
    pub provider: ProviderCounts,
}

impl Summary {
    pub fn add(&mut self, other: Summary) {
        self.openings += other.openings;
        self.openings_cut_off += other.openings_cut_off;
        self.crashes += other.crashes;
        self.power_failures += other.power_failures;
        self.unavailable += other.unavailable;
        self.disk_full += other.disk_full;
        self.closed += other.closed;
        self.acknowledged += other.acknowledged;
        self.repeated += other.repeated;
        self.restored += other.restored;
        self.displaced += other.displaced;
        self.provider.add(other.provider);
    }
}
