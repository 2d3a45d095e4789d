//! The random numbers of the bench, and of the comparison with DRAMsim3.

/// A generator of numbers that is the same everywhere (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
