//! The random numbers of a simulation: all of them follow from one seed.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::ops::RangeInclusive;

/// A random number generator.
pub struct TestRng(ChaCha8Rng);

impl TestRng {
    /// The generator for a seed.
    pub fn of(seed: u64) -> Self {
        TestRng(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Draws a seed for another generator. So the number of draws of one generator does not change the numbers of
    /// others.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A new generator, seeded from this one.
    pub fn fork(&mut self) -> TestRng {
        TestRng::of(self.seed())
    }

    /// Draws uniformly in `0..bound`, except for a bias below 2^-32.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert_ne!(bound, 0, "there is nothing below 0");
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws uniformly in a range.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// Draws uniformly in its logarithm, so that every order of magnitude is as likely as the others.
    pub fn magnitude(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (min, max) = (*range.start() as f64, *range.end() as f64 + 1.0);
        let unit = (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        ((min * (max / min).powf(unit)) as u64).clamp(*range.start(), *range.end())
    }

    /// Returns true with this probability, in percent.
    pub fn percent(&mut self, times: u64) -> bool {
        self.below(100) < times
    }

    /// Draws one of several values.
    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}
