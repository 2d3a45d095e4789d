//! The exponents θ of Chernoff's bounds: the search for the best, and steeper ones for a part of a sum.

/// The exponents that a bound on an overflow is looked for with, each this many times θ.
pub(super) const SCALES: [f64; 8] = [1.0, 1.02, 1.08, 1.2, 1.4, 1.8, 2.5, 4.0];

/// The number of exponents that a bound is looked for with at first.
const NEAR: u32 = 40;

/// The least bound on `E[e^(θ max(y, 0))] - 1`. `moment` gives a bound on `E[e^(θ y)]`. For y >= 0, `e^(θ y) - 1` is at
/// most `κ e^(θ' y)`, with κ = 1 if θ' = θ. Infinite if there is none.
pub(super) fn scaled(theta: f64, moment: impl Fn(f64) -> f64) -> f64 {
    let with = |times: f64| {
        let scaled = ScaledExponent::new(times, theta);
        libm::exp(scaled.log_part) * moment(scaled.theta)
    };
    // The minimum ignores values that are not numbers: infinity times zero.
    SCALES.into_iter().map(with).fold(f64::INFINITY, f64::min)
}

/// An exponent θ' that is this many times θ.
pub(super) struct ScaledExponent {
    pub(super) theta: f64,
    /// `ln κ`.
    pub(super) log_part: f64,
    /// `e^θ' - 1`.
    pub(super) growth: f64,
}

impl ScaledExponent {
    pub(super) fn new(times: f64, theta: f64) -> Self {
        let less = times - 1.0;
        let log_part = if less > 0.0 { times * libm::log(less / times) - libm::log(less) } else { 0.0 };
        let theta = times * theta;
        ScaledExponent { theta, log_part, growth: libm::expm1(theta) }
    }
}

/// The exponents that a bound is looked for with at first, from 0.001 to 3.
pub(super) fn exponents() -> impl Iterator<Item = f64> {
    (0..NEAR).map(|nth| 1e-3 * libm::pow(3e3, f64::from(nth) / f64::from(NEAR - 1)))
}

/// The least value of a function of θ. Any θ gives a bound; the best is sought by golden section about the best of the
/// first ones.
pub(super) fn min(of: impl Fn(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_895;
    let first = exponents().map(|theta| (of(theta), theta));
    let (at_first, first) = first.min_by(|one, other| one.0.total_cmp(&other.0)).expect("there are some");
    let step = libm::pow(3e3, 1.0 / f64::from(NEAR - 1));
    let (mut low, mut high) = (first / step, first * step);
    let place = |low: f64, high: f64, part: f64| low + part * (high - low);
    let (mut left, mut right) = (place(low, high, 1.0 - RATIO), place(low, high, RATIO));
    let (mut at_left, mut at_right) = (of(left), of(right));
    for _ in 0..12 {
        // If both are infinite, the way is down.
        if at_left < at_right || at_right.is_infinite() {
            (high, right, at_right) = (right, left, at_left);
            left = place(low, high, 1.0 - RATIO);
            at_left = of(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = place(low, high, RATIO);
            at_right = of(right);
        }
    }
    at_first.min(at_left).min(at_right)
}
