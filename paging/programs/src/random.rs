//! Random numbers that are the same on every machine: ChaCha8 from a pinned seed.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// A stream of numbers that its seed determines.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A whole number below `bound`. Off from uniform by less than `bound` in 2³², which no program here could notice.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// `true` with probability 1/2.
    pub(crate) fn coin(&mut self) -> bool {
        self.0.next_u32() & 1 == 1
    }

    /// A number from −1 (included) to 1 (not included), in steps of 2⁻³¹: exact in binary, so the same everywhere.
    pub(crate) fn signed_unit(&mut self) -> f64 {
        f64::from(self.0.next_u32() as i32) / (1u64 << 31) as f64
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1);
        let mut seen = [false; 7];
        let (mut min, mut max) = (1.0f64, -1.0f64);
        for _ in 0..10_000 {
            seen[random.below(7) as usize] = true;
            let unit = random.signed_unit();
            assert!((-1.0..1.0).contains(&unit));
            (min, max) = (min.min(unit), max.max(unit));
        }
        assert_eq!(seen, [true; 7]);
        assert!(min < -0.99 && max > 0.99, "{min} to {max}");
    }
}
