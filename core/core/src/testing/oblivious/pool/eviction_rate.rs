//! The schedule of evictions, as far as it follows from the count of accesses.

/// The evictions of this many accesses: what follows from the count of accesses alone.
#[derive(Clone, Copy, Debug)]
pub struct EvictionRate {
    /// Evictions that come for [`accesses`](Self::accesses).
    pub evictions: u64,
    /// Accesses.
    pub accesses: u64,
}
