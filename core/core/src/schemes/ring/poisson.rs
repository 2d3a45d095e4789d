//! Poisson variables: their tails, and the moments of their excess over a number.

use core::f64::consts::LN_2;

/// The exponent beyond which an expectation counts as infinite: e to this is still a number.
const MAX_EXPONENT: f64 = 600.0;

/// A number that a Poisson variable is held against, such as the slots of a bucket.
#[derive(Clone, Copy)]
pub(super) struct Threshold {
    number: f64,
    /// The logarithm of the factorial of the next number.
    ln_factorial: f64,
}

impl Threshold {
    pub(super) fn of(number: u32) -> Self {
        let number = f64::from(number);
        Threshold { number, ln_factorial: libm::lgamma(number + 2.0) }
    }

    pub(super) fn number(&self) -> f64 {
        self.number
    }

    /// Returns the probability that a Poisson variable exceeds the number.
    pub(super) fn exceeded(&self, mean: f64) -> f64 {
        if mean <= 0.0 {
            return 0.0;
        }
        let (first, next) = (self.number + 1.0, self.number + 2.0);
        let p = libm::exp(first * libm::log(mean) - mean - self.ln_factorial);
        if mean < next {
            return p * series(|nth| mean / (next + nth));
        }
        // The sum of the numbers up to this one, from above.
        let below = p * first / mean;
        1.0 - (below * series(|nth| f64::max(self.number - nth, 0.0) / mean)).min(1.0)
    }

    /// Returns `ln E[e^(θ max(Y - number, 0))]` for a Poisson Y, and the part of that expectation that Y makes where it
    /// exceeds the number.
    pub(super) fn log_moment(&self, mean: f64, theta: f64) -> (f64, f64) {
        let within = 1.0 - self.exceeded(mean);
        // A Poisson variable weighted with e^(θ Y) is a Poisson variable whose mean is e^θ times as large.
        let exponent = mean * libm::expm1(theta) - theta * self.number;
        let beyond = self.exceeded(mean * libm::exp(theta));
        if exponent > 500.0 {
            return (exponent + libm::log(beyond.max(f64::MIN_POSITIVE)) + LN_2, 1.0);
        }
        let beyond = libm::exp(exponent) * beyond;
        (libm::log((within + beyond).max(1.0)), beyond / (within + beyond))
    }

    /// Returns `E[e^(θ (max(Y + X - number, 0) - max(Y - number, 0)))] - 1` for independent Poisson variables Y and X
    /// of these means. Returns infinity if the result may be too large for a number.
    pub(super) fn growth(&self, mean: f64, more: f64, theta: f64) -> f64 {
        let exponent = more * libm::expm1(theta);
        if more <= 0.0 {
            return 0.0;
        }
        if exponent > MAX_EXPONENT {
            return f64::INFINITY;
        }
        let (mean, step) = (mean.max(f64::MIN_POSITIVE), libm::exp(theta));
        // X weighted with e^(θ X) is a Poisson variable too.
        let weighted = more * step;
        // Where Y falls short by k: from the k that X exceeds with no weight that matters, down to none.
        let mut k = libm::ceil(weighted + 8.0 * libm::sqrt(weighted) + 12.0);
        let (mut p_more, mut p_weighted) = (probability(more, k), probability(weighted, k));
        let (mut tail, mut weighted_tail) = (0.0, 0.0);
        let mut factor = libm::exp(exponent - theta * k);
        let mut p_short = 0.0;
        let mut sum = self.exceeded(mean) * libm::expm1(exponent);
        loop {
            if k <= self.number {
                let value = self.number - k;
                // Too small a number is zero, and would stay so.
                p_short = if p_short > 0.0 { p_short * mean / value } else { probability(mean, value) };
                sum += p_short * (factor * weighted_tail - tail).max(0.0);
            }
            if k < 1.0 {
                return sum;
            }
            tail += p_more;
            weighted_tail += p_weighted;
            p_more *= k / more;
            p_weighted *= k / weighted;
            factor *= step;
            k -= 1.0;
        }
    }

    /// Returns the mean excess of a Poisson variable over the number.
    pub(super) fn mean_excess(&self, mean: f64) -> f64 {
        if mean <= 0.0 {
            return 0.0;
        }
        let above = self.exceeded(mean);
        let next = libm::exp((self.number + 1.0) * libm::log(mean) - mean - self.ln_factorial);
        // E[Y; Y > n] = mean P(Y > n - 1), and P(Y = n) = P(Y = n + 1) (n + 1) / mean.
        let at = next * (self.number + 1.0) / mean;
        (mean * (above + at) - self.number * above).max(0.0)
    }
}

/// Returns the probability of a value of a Poisson variable with this mean.
fn probability(mean: f64, value: f64) -> f64 {
    libm::exp(value * libm::log(mean) - mean - libm::lgamma(value + 1.0))
}

/// Returns `1 + r(0) + r(0) r(1) + ..`, as far as it matters.
fn series(ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut term, mut nth) = (1.0, 1.0, 0.0);
    while term > 1e-12 * sum {
        term *= ratio(nth);
        sum += term;
        nth += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probabilities of 0 to 400.
    fn distribution(mean: f64) -> impl Iterator<Item = (f64, f64)> {
        let mut p = libm::exp(-mean);
        (0..400).map(move |value| {
            let this = (f64::from(value), p);
            p *= mean / f64::from(value + 1);
            this
        })
    }

    #[test]
    fn tails_and_moments_are_those_of_the_sum() {
        for mean in [0.01, 1.0, 20.0, 39.0, 41.0, 80.0] {
            for number in [0, 1, 20, 40, 100] {
                let (threshold, theta) = (Threshold::of(number), 0.3);
                let (mut tail, mut moment, mut excess) = (0.0, 0.0, 0.0);
                for (value, p) in distribution(mean) {
                    let more = (value - f64::from(number)).max(0.0);
                    tail += if more > 0.0 { p } else { 0.0 };
                    moment += p * libm::exp(theta * more);
                    excess += p * more;
                }
                let is_near = |one: f64, other: f64| (one - other).abs() < 1e-9 * (1.0 + other.abs());
                assert!(is_near(threshold.exceeded(mean), tail), "{mean} {number}");
                let (log_moment, _) = threshold.log_moment(mean, theta);
                assert!(is_near(log_moment, libm::log(moment)), "{mean} {number}");
                assert!(is_near(threshold.mean_excess(mean), excess), "{mean} {number}");
                let mut growth = 0.0;
                for (value, p) in distribution(mean) {
                    for (more, p_more) in distribution(5.0) {
                        let exceeds = |sum: f64| (sum - f64::from(number)).max(0.0);
                        let grown = exceeds(value + more) - exceeds(value);
                        growth += p * p_more * libm::expm1(theta * grown);
                    }
                }
                assert!(is_near(threshold.growth(mean, 5.0, theta), growth), "{mean} {number}");
            }
        }
    }

    #[test]
    fn far_tails_keep_their_digits() {
        // P(Y > 199) with mean 40 is 2^-239.8 by the first terms of its sum.
        let first = libm::exp(200.0 * libm::log(40.0) - 40.0 - libm::lgamma(201.0));
        let tail = Threshold::of(199).exceeded(40.0);
        assert!(tail > first && tail < 1.3 * first, "{tail:e} {first:e}");
    }
}
