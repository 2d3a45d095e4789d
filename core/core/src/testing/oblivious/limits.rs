//! The limits of the tests: the smallest deviation that each test finds 99 times in 100, given its number of draws. It
//! may miss smaller deviations.
//!
//! The limits are computed, not proven: each statistic is treated as a Gaussian about its mean. The tests below check
//! the limits with draws that deviate by exactly the limit.

use super::bounds::{ALARM_LOG2, log2_of_many, log2_of_ratio};
use core::fmt;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// The share of deviations of its limit that a test finds.
pub const FOUND: f64 = 0.99;
/// The number of standard deviations by which a Gaussian is below its mean once in a hundred times.
const SHORT: f64 = 2.326;

/// A deviation that a test finds.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The part that deviates, 0 to 1.
    pub share: f64,
    /// The kind of the deviation.
    pub of: &'static str,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} % {}", 100.0 * self.share, self.of)
    }
}

/// The least share from 0 to 1 that is found. All greater shares are found too.
fn min(is_found: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut unseen, mut found) = (0.0, 1.0);
    if !is_found(found) {
        return None;
    }
    for _ in 0..40 {
        let share = (unseen + found) / 2.0;
        if is_found(share) {
            found = share;
        } else {
            unseen = share;
        }
    }
    Some(found)
}

/// The limit for counts of n draws over this many cells. It is the share of the draws that fall into one cell of their
/// row, if the other draws are uniform.
pub(super) fn of_uniform(n: u64, cells: usize, freedom: f64) -> Option<Limit> {
    let (n, even) = (n as f64, 1.0 / cells as f64);
    let is_found = |share: f64| {
        let (one, each) = (share + (1.0 - share) * even, (1.0 - share) * even);
        let others = 1.0 - one;
        let log = |mass: f64| if mass > 0.0 { libm::log(mass / even) } else { 0.0 };
        let entropy = one * log(one) + others * log(each);
        let spread = one * log(one) * log(one) + others * log(each) * log(each) - entropy * entropy;
        let mean = freedom / 2.0 + n * entropy;
        let deviation = libm::sqrt(freedom / 2.0 + n * spread.max(0.0));
        log2_of_ratio(mean - SHORT * deviation, freedom) < ALARM_LOG2
    };
    let share = if n > 0.0 && freedom > 0.0 { min(is_found) } else { None };
    share.map(|share| Limit { share, of: "of the draws in one cell" })
}

/// The limit for n draws over this many equally likely cells, one of which is judged against the log2 of this
/// probability. It is the share of the draws that fall into this cell, if the other draws are uniform.
pub(super) fn of_cell(n: u64, cells: usize, alarm: f64) -> Option<Limit> {
    let even = 1.0 / cells as f64;
    let limit = of_many_beyond(n, n as f64 * even, alarm)?;
    Some(Limit { share: limit.share, of: "of the draws in one cell" })
}

/// The limit for n trials that should succeed at most `mean` times. It is the share of trials that succeed in addition.
pub(super) fn of_many(n: u64, mean: f64) -> Option<Limit> {
    of_many_beyond(n, mean, ALARM_LOG2)
}

/// The least number of n observations that alarms, if any does: those beyond it alarm too.
fn min_alarm(n: u64, alarms: impl Fn(u64) -> bool) -> Option<u64> {
    if !alarms(n) {
        return None;
    }
    let (mut quiet, mut max) = (0, n);
    while max - quiet > 1 {
        let observed = quiet + (max - quiet) / 2;
        if alarms(observed) {
            max = observed;
        } else {
            quiet = observed;
        }
    }
    Some(max)
}

fn of_many_beyond(n: u64, mean: f64, alarm: f64) -> Option<Limit> {
    let alarms = |observed: u64| log2_of_many(n, mean, observed) < alarm;
    let max = min_alarm(n, alarms).filter(|_| mean > 0.0)?;
    let at_random = mean / n as f64;
    let is_found = |share: f64| {
        let distribution = Binomial::new((at_random + share * (1.0 - at_random)).min(1.0), n);
        distribution.is_ok_and(|distribution| distribution.sf(max - 1) >= FOUND)
    };
    min(is_found).map(|share| Limit { share, of: "of the trials beyond chance" })
}

/// The limit for two samples over this many equally likely cells. It is the share of one sample that falls into one
/// cell, if the rest of the sample and the other sample are uniform.
pub(super) fn of_homogeneous(n: u64, m: u64, cells: usize) -> Option<Limit> {
    let distribution = Normal::standard();
    let alarm = -distribution.inverse_cdf(libm::exp2(ALARM_LOG2) / (2.0 * cells as f64));
    let (n, m, even) = (n as f64, m as f64, 1.0 / cells as f64);
    let deviation = |one: f64, other: f64| libm::sqrt(one * (1.0 - one) / n + other * (1.0 - other) / m);
    let is_found = |share: f64| {
        let one = even + share * (1.0 - even);
        // The test knows both samples together, and nothing of which is even.
        let together = (n * one + m * even) / (n + m);
        one - even >= alarm * deviation(together, together) + SHORT * deviation(one, even)
    };
    min(is_found).map(|share| Limit { share, of: "of one sample in one cell" })
}

/// The limit for this many pairs of runs that are not ties. It is the share of pairs in which the same run has more, if
/// a coin decides the other pairs.
pub(super) fn of_signs(pairs: u64) -> Option<Limit> {
    let coin = Binomial::new(0.5, pairs).ok()?;
    let max = (pairs / 2..=pairs).find(|more| {
        let less = pairs - more;
        libm::log2(2.0 * coin.cdf(less)) < ALARM_LOG2
    })?;
    let is_found = |share: f64| {
        let distribution = Binomial::new((0.5 + share / 2.0).min(1.0), pairs);
        distribution.is_ok_and(|distribution| distribution.sf(max - 1) >= FOUND)
    };
    min(is_found).map(|share| Limit { share, of: "of the pairs of runs" })
}

/// Returns the limit for a sample of n that is compared with another sample. The limit is the share of the sample that
/// must succeed for an alarm, given the successes in the other sample. `log2_p` judges a number of successes.
pub(super) fn of_likelier(n: u64, log2_p: impl Fn(u64) -> f64) -> Option<Limit> {
    let alarms = |observed: u64| log2_p(observed) < ALARM_LOG2;
    let max = min_alarm(n, alarms)?;
    let is_found =
        |share: f64| Binomial::new(share, n).is_ok_and(|distribution| distribution.sf(max - 1) >= FOUND);
    min(is_found).map(|share| Limit { share, of: "of the likelier runs" })
}

#[cfg(test)]
mod tests {
    use super::super::observer::draw_below;
    use super::super::statistics::{fair_signs, homogeneous, not_too_many, tally, uniform};
    use super::*;
    use alloc::string::String;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    const EXPERIMENTS: usize = 200;

    /// Counts in how many experiments of [`EXPERIMENTS`] a test alarms.
    fn alarms(mut log2_p: impl FnMut() -> f64) -> usize {
        (0..EXPERIMENTS).filter(|_| log2_p() < ALARM_LOG2).count()
    }

    /// Draws 1 with this probability and 0 otherwise.
    fn coin(random: &mut ChaCha8Rng, share: f64) -> bool {
        (draw_below(random, 1 << 30) as f64) < share * f64::from(1 << 30)
    }

    fn share(limit: Option<Limit>) -> f64 {
        limit.expect("so many draws find something").share
    }

    #[test]
    fn draws_in_one_cell_are_found_at_the_limit_and_not_at_half_of_it() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for (cells, n) in [(16, 2000), (64, 10_000), (32, 400)] {
            let limit = share(of_uniform(n, cells, cells as f64 - 1.0));
            let mut of = |share: f64| {
                alarms(|| {
                    let draws = (0..n)
                        .map(|_| if coin(&mut random, share) { 0 } else { draw_below(&mut random, cells) });
                    uniform(String::new(), &tally(cells, draws)).log2_p
                })
            };
            assert!(of(limit) >= EXPERIMENTS * 96 / 100, "{cells} cells, {n} draws, {limit}");
            assert!(of(limit / 2.0) <= EXPERIMENTS / 10, "{cells} cells, {n} draws, {limit}");
        }
    }

    #[test]
    fn successes_beyond_chance_are_found_at_the_limit_and_not_at_a_third_of_it() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        for (n, at_random) in [(10_000, 1.0 / 4096.0), (2000, 1.0 / 16.0)] {
            let limit = share(of_many(n, at_random * n as f64));
            let mut of = |share: f64| {
                alarms(|| {
                    let draws = (0..n).filter(|_| coin(&mut random, share) || coin(&mut random, at_random));
                    not_too_many(String::new(), n, at_random * n as f64, draws.count() as u64).log2_p
                })
            };
            assert!(of(limit) >= EXPERIMENTS * 96 / 100, "{n} trials, {limit}");
            assert!(of(limit / 3.0) <= EXPERIMENTS / 10, "{n} trials, {limit}");
        }
    }

    #[test]
    fn samples_of_two_laws_are_found_at_the_limit() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let (n, cells) = (5000, 32);
        let limit = share(of_homogeneous(n, n, cells));
        let found = alarms(|| {
            let even = tally(cells, (0..n).map(|_| draw_below(&mut random, cells)));
            let draws =
                (0..n).map(|_| if coin(&mut random, limit) { 0 } else { draw_below(&mut random, cells) });
            homogeneous(String::new(), &even, &tally(cells, draws)).log2_p
        });
        assert!(found >= EXPERIMENTS * 90 / 100, "{found} at {limit}");
    }

    #[test]
    fn pairs_of_runs_are_found_at_the_limit() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let limit = share(of_signs(64));
        let found = alarms(|| {
            let pairs = (0..64).map(|_| {
                let more = coin(&mut random, limit) || coin(&mut random, 0.5);
                (f64::from(u8::from(more)), 0.5)
            });
            fair_signs(String::new(), pairs).log2_p
        });
        assert!(found >= EXPERIMENTS * 96 / 100, "{found} at {limit}");
        assert!(of_signs(20).is_none(), "too few to alarm at all");
    }
}
