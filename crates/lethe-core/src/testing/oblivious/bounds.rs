//! Bounds on the probabilities of statistics, which hold at every sample size.

use core::f64::consts::LN_2;

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

/// The log2 of Chernoff's bound on the probability of so many or more.
pub(super) fn log2_of_many(n: u64, mean: f64, seen: u64) -> f64 {
    let (of, seen) = (n as f64, seen as f64);
    if seen <= mean || mean <= 0.0 {
        return 0.0;
    }
    let misses = if seen < of { (of - seen) * libm::log((of - seen) / (of - mean)) } else { 0.0 };
    -(seen * libm::log(seen / mean) + misses) / LN_2
}
