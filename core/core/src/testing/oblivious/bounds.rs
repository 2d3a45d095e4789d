//! Bounds on the probabilities of statistics, which hold at every sample size.

use core::f64::consts::LN_2;
use statrs::distribution::{Binomial, DiscreteCDF};

/// A test alarms if a sound scheme would show so much with a probability below 2 to this.
pub const ALARM_LOG2: f64 = -33.0;

/// The log2 of Agrawal's bound on the probability that half the likelihood ratio is so much or more.
pub(super) fn log2_of_ratio(half: f64, freedom: f64) -> f64 {
    if half > freedom && freedom > 0.0 {
        ((freedom - half + freedom * libm::log(half / freedom)) / LN_2).min(0.0)
    } else {
        0.0
    }
}

/// The log2 of Chernoff's bound on the probability of this many or more.
pub(super) fn log2_of_many(n: u64, mean: f64, observed: u64) -> f64 {
    let (of, observed) = (n as f64, observed as f64);
    if observed <= mean || mean <= 0.0 {
        return 0.0;
    }
    let misses = if observed < of { (of - observed) * libm::log((of - observed) / (of - mean)) } else { 0.0 };
    -(observed * libm::log(observed / mean) + misses) / LN_2
}

/// The log2 of a bound on the probability that one sample succeeds at least this often and another at most this often.
/// The first has at most e^ε times the probability of the second. The bound is twice the tails at the p at which both
/// are equal.
pub(super) fn log2_of_likelier(
    epsilon: f64,
    (observed, n): (u64, u64),
    (other_observed, m): (u64, u64),
) -> f64 {
    let so_many = |p: f64| match observed {
        0 => 1.0,
        observed => Binomial::new(p.min(1.0), n).map_or(1.0, |distribution| distribution.sf(observed - 1)),
    };
    let so_few =
        |p: f64| Binomial::new(p.min(1.0), m).map_or(1.0, |distribution| distribution.cdf(other_observed));
    // The first grows with p and the second falls.
    let (mut below, mut above) = (0.0f64, 1.0f64);
    for _ in 0..60 {
        let p = (below + above) / 2.0;
        match so_many(p * libm::exp(epsilon)) > so_few(p) {
            true => above = p,
            false => below = p,
        }
    }
    (1.0 + libm::log2(so_few(below).max(f64::MIN_POSITIVE))).min(0.0)
}
