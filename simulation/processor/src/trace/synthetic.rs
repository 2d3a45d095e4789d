//! Generated traces: `scan`, `random` and `zipf`.

use super::{Kind, Miss};
use crate::units::Line;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use rand_distr::{Distribution, Zipf};

/// The order of the lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// The next one each time, and again from the first.
    Scan,
    /// Each as likely as any other.
    Random,
    /// The k-th most popular with a probability proportional to k to the power of minus `exponent`. Popular ones lie
    /// apart.
    Zipf {
        /// The exponent, 0 or more: 0 is [`Pattern::Random`], 1 is Zipf's own law.
        exponent: f64,
    },
}

/// The shape of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The order of the lines.
    pub pattern: Pattern,
    /// The number of lines, from 0 on.
    pub lines: u64,
    /// The share of stores, between 0 and 1. Each miss is drawn independently.
    pub stores: f64,
    /// The number of instructions before each miss.
    pub instructions: u32,
    /// The seed: the same one gives the same trace.
    pub seed: u64,
}

/// The reason why a trace is refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// The trace has no lines, or more than there are addresses or exact numbers of floating point.
    #[error("a trace over {0} lines is impossible: choose 1 to 2^53")]
    Lines(u64),
    /// The share of stores is not between 0 and 1.
    #[error("a share of stores of {0} is impossible: choose between 0 and 1")]
    Stores(f64),
    /// No law has this exponent.
    #[error("{0} is not a valid exponent of Zipf's law: choose 0 or more, such as 1")]
    Exponent(f64),
}

/// A trace without end.
#[derive(Clone, Debug)]
pub struct Synthetic {
    shape: Shape,
    random: ChaCha8Rng,
    zipf: Option<Zipf<f64>>,
    /// The number of lines between popular ones that follow each other, by rank.
    apart: u64,
    next: u64,
}

/// The maximum number of lines: floating-point numbers are exact up to it.
const MAX_LINES: u64 = 1 << 53;

impl Synthetic {
    /// Begins a trace.
    ///
    /// # Errors
    /// [`ShapeError`] for a shape that no trace has.
    pub fn new(shape: Shape) -> Result<Self, ShapeError> {
        if !(1..=MAX_LINES).contains(&shape.lines) {
            return Err(ShapeError::Lines(shape.lines));
        }
        if !(0.0..=1.0).contains(&shape.stores) {
            return Err(ShapeError::Stores(shape.stores));
        }
        let zipf = match shape.pattern {
            Pattern::Zipf { exponent } if !exponent.is_finite() => {
                return Err(ShapeError::Exponent(exponent));
            }
            Pattern::Zipf { exponent } => {
                Some(Zipf::new(shape.lines as f64, exponent).map_err(|_| ShapeError::Exponent(exponent))?)
            }
            Pattern::Scan | Pattern::Random => None,
        };
        let mut random = ChaCha8Rng::seed_from_u64(shape.seed);
        let apart = coprime(below(&mut random, shape.lines), shape.lines);
        Ok(Synthetic { shape, random, zipf, apart, next: 0 })
    }

    fn line(&mut self) -> u64 {
        let lines = self.shape.lines;
        let Some(zipf) = &self.zipf else {
            return match self.shape.pattern {
                Pattern::Scan => {
                    let line = self.next;
                    self.next = (line + 1) % lines;
                    line
                }
                Pattern::Random | Pattern::Zipf { .. } => below(&mut self.random, lines),
            };
        };
        let rank = (zipf.sample(&mut self.random) as u64).clamp(1, lines) - 1;
        (u128::from(rank) * u128::from(self.apart) % u128::from(lines)) as u64
    }
}

impl Iterator for Synthetic {
    type Item = Miss;

    fn next(&mut self) -> Option<Miss> {
        let line = Line(self.line());
        // From 0 to below 1 in steps of 2⁻⁵³. So with a share of stores of 0 there is never a store, and with 1 always.
        let share = (self.random.next_u64() >> 11) as f64 / MAX_LINES as f64;
        let kind = if share < self.shape.stores { Kind::Store } else { Kind::Load };
        Some(Miss { instructions: self.shape.instructions, kind, line })
    }
}

/// A number below `bound`, off from uniform by less than `bound` in 2⁶⁴.
fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// The first number from here on that has no factor in common with another, so that its multiples visit all.
fn coprime(from: u64, with: u64) -> u64 {
    let divisor = |mut one: u64, mut other: u64| {
        while other != 0 {
            (one, other) = (other, one % other);
        }
        one
    };
    (from.max(1)..).find(|number| divisor(*number, with) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    const SHAPE: Shape = Shape { pattern: Pattern::Scan, lines: 100, stores: 0.25, instructions: 7, seed: 1 };

    fn first(count: usize, shape: Shape) -> Vec<Miss> {
        Synthetic::new(shape).unwrap().take(count).collect()
    }

    /// The lines of this many misses with their counts, the most frequent first.
    fn frequencies(count: usize, pattern: Pattern) -> Vec<(u64, usize)> {
        let mut found: HashMap<u64, usize> = HashMap::new();
        for miss in first(count, Shape { pattern, ..SHAPE }) {
            *found.entry(miss.line.0).or_default() += 1;
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(line, count)| (usize::MAX - count, *line));
        found
    }

    proptest! {
        #[test]
        fn a_seed_gives_one_trace_within_its_lines(lines in 1..1u64 << 40, seed in any::<u64>(), which in 0..3) {
            let pattern = [Pattern::Scan, Pattern::Random, Pattern::Zipf { exponent: 0.99 }][which as usize];
            let shape = Shape { pattern, lines, seed, ..SHAPE };
            let found = first(50, shape);
            prop_assert_eq!(&found, &first(50, shape));
            prop_assert!(found.iter().all(|miss| miss.line.0 < lines && miss.instructions == 7));
        }

        #[test]
        fn multiples_of_the_distance_visit_every_line(from in 0..2000u64, lines in 1..2000u64) {
            let apart = coprime(from, lines);
            let visited: HashSet<u64> = (0..lines).map(|nth| nth * apart % lines).collect();
            prop_assert_eq!(visited.len() as u64, lines);
        }
    }

    #[test]
    fn a_scan_begins_again_after_its_last_line() {
        let lines: Vec<u64> = first(205, SHAPE).iter().map(|miss| miss.line.0).collect();
        assert_eq!(lines, (0..205).map(|nth| nth % 100).collect::<Vec<_>>());
    }

    #[test]
    fn the_share_of_stores_is_kept() {
        for stores in [0.0, 0.25, 1.0] {
            let found = first(10_000, Shape { stores, ..SHAPE });
            let share = found.iter().filter(|miss| miss.kind == Kind::Store).count() as f64 / 10_000.0;
            assert!((share - stores).abs() < 0.02 && (stores % 1.0 != 0.0 || share == stores), "{share}");
        }
    }

    #[test]
    fn random_lines_come_equally_often_and_those_of_zipf_by_their_rank() {
        let even = frequencies(100_000, Pattern::Random);
        assert!(even.len() == 100 && even.iter().all(|(_, count)| (850..1150).contains(count)), "{even:?}");
        let skewed = frequencies(100_000, Pattern::Zipf { exponent: 1.0 });
        // The sum of 1/k up to 100 is 5.187.
        for (rank, (_, count)) in (1..).zip(&skewed[..4]) {
            let expected = 100_000.0 / 5.187 / f64::from(rank);
            assert!((*count as f64 / expected - 1.0).abs() < 0.05, "{count} and not {expected}");
        }
        assert_ne!(skewed[0].0.abs_diff(skewed[1].0), 1, "popular lines lie apart");
    }

    #[test]
    fn an_invalid_shape_is_an_error() {
        let why = |shape| Synthetic::new(shape).unwrap_err().to_string();
        assert!(why(Shape { lines: 0, ..SHAPE }).contains("over 0 lines"));
        assert!(why(Shape { lines: u64::MAX, ..SHAPE }).contains("choose 1 to 2^53"));
        for stores in [-0.1, 1.1, f64::NAN] {
            assert!(why(Shape { stores, ..SHAPE }).contains("choose between 0 and 1"));
        }
        for exponent in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(why(Shape { pattern: Pattern::Zipf { exponent }, ..SHAPE }).contains("0 or more"));
        }
    }
}
