//! The schedule of evictions, as far as it follows from the count of accesses.

/// The evictions of this many accesses: they follow from the count of accesses only.
#[derive(Clone, Copy, Debug)]
pub struct EvictionRate {
    /// The number of evictions that come for [`accesses`](Self::accesses).
    pub evictions: u64,
    /// The number of accesses.
    pub accesses: u64,
}
