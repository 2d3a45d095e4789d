//! Distributions of sizes, and their moments.

use rand_core::RngCore;
use serde::Deserialize;

/// The number of bytes of a KiB.
const KIB: f64 = 1024.0;

/// A mixture of parts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Distribution {
    parts: Vec<Part>,
}

/// A part of a mixture.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Part {
    /// The part's weight: its share of the objects relative to the other parts.
    #[serde(default = "default_weight")]
    pub weight: f64,
    /// The sizes in the part.
    #[serde(flatten)]
    pub shape: Shape,
}

fn default_weight() -> f64 {
    1.0
}

/// The sizes of a part, in KiB.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// A single size.
    Constant {
        /// The size.
        kib: f64,
    },
    /// All sizes between two, each as likely.
    Uniform {
        /// The least size.
        min_kib: f64,
        /// The greatest size.
        max_kib: f64,
    },
    /// Sizes whose logarithm is normal, those beyond the bounds left out.
    Lognormal {
        /// The median, if nothing were left out.
        median_kib: f64,
        /// The deviation of the natural logarithm.
        sigma: f64,
        /// The least size.
        min_kib: f64,
        /// The greatest size.
        max_kib: f64,
    },
}

/// The area of the standard normal density up to `x`.
fn normal_cdf(x: f64) -> f64 {
    0.5 * (1.0 + libm::erf(x / std::f64::consts::SQRT_2))
}

/// A uniform number from 0 up to 1, which is left out.
fn unit_interval(random: &mut impl RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

impl Shape {
    /// The mean of the n-th power of a size in KiB.
    fn moment(&self, n: i32) -> f64 {
        match *self {
            Shape::Constant { kib } => kib.powi(n),
            Shape::Uniform { min_kib, max_kib } if min_kib == max_kib => min_kib.powi(n),
            Shape::Uniform { min_kib, max_kib } => {
                (max_kib.powi(n + 1) - min_kib.powi(n + 1)) / (f64::from(n + 1) * (max_kib - min_kib))
            }
            Shape::Lognormal { median_kib, sigma, min_kib, max_kib } => {
                let standardize = |kib: f64| (kib / median_kib).ln() / sigma;
                let (low, high) = (standardize(min_kib), standardize(max_kib));
                let shift = f64::from(n) * sigma;
                let untruncated = median_kib.powi(n) * (shift * shift / 2.0).exp();
                untruncated * (normal_cdf(high - shift) - normal_cdf(low - shift))
                    / (normal_cdf(high) - normal_cdf(low))
            }
        }
    }

    /// The share of the sizes that are below one.
    fn below(&self, kib: f64) -> f64 {
        match *self {
            Shape::Constant { kib: one } => f64::from(u8::from(one < kib)),
            Shape::Uniform { min_kib, max_kib } => {
                ((kib - min_kib) / (max_kib - min_kib).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
            }
            Shape::Lognormal { median_kib, sigma, min_kib, max_kib } => {
                let area = |kib: f64| normal_cdf((kib / median_kib).ln() / sigma);
                let kib = kib.clamp(min_kib, max_kib);
                (area(kib) - area(min_kib)) / (area(max_kib) - area(min_kib))
            }
        }
    }

    /// Draws a size in KiB.
    fn draw(&self, random: &mut impl RngCore) -> f64 {
        match *self {
            Shape::Constant { kib } => kib,
            Shape::Uniform { min_kib, max_kib } => min_kib + (max_kib - min_kib) * unit_interval(random),
            Shape::Lognormal { median_kib, sigma, min_kib, max_kib } => loop {
                // Box and Muller's transform, of which one number is used.
                let (radius, angle) =
                    (1.0 - unit_interval(random), unit_interval(random) * std::f64::consts::TAU);
                let deviate = (-2.0 * libm::log(radius)).sqrt() * libm::cos(angle);
                let kib = median_kib * libm::exp(sigma * deviate);
                if (min_kib..=max_kib).contains(&kib) {
                    break kib;
                }
            },
        }
    }

    /// The fault of its numbers, if there is one.
    fn fault(&self) -> Option<&'static str> {
        let is_size = |kib: f64| kib.is_finite() && kib > 0.0;
        match *self {
            Shape::Constant { kib } => (!is_size(kib)).then_some("a size is more than 0 KiB"),
            Shape::Uniform { min_kib, max_kib } | Shape::Lognormal { min_kib, max_kib, .. }
                if !is_size(min_kib) || !is_size(max_kib) || min_kib > max_kib =>
            {
                Some("the bounds are sizes above 0 KiB, the lesser one first")
            }
            Shape::Uniform { .. } => None,
            Shape::Lognormal { median_kib, sigma, .. } if !is_size(median_kib) || !is_size(sigma) => {
                Some("median_kib and sigma are more than 0")
            }
            // A value between the bounds must be likely enough to be drawn.
            Shape::Lognormal { median_kib, sigma, min_kib, max_kib } => {
                let area = |kib: f64| normal_cdf((kib / median_kib).ln() / sigma);
                (area(max_kib) - area(min_kib) < 1e-3)
                    .then_some("less than a thousandth of it lies between the bounds: widen them")
            }
        }
    }
}

impl Distribution {
    /// The mean size, in bytes.
    pub fn mean(&self) -> f64 {
        KIB * self.average(|shape| shape.moment(1))
    }

    /// The standard deviation of the sizes, in bytes.
    pub fn deviation(&self) -> f64 {
        let mean = self.average(|shape| shape.moment(1));
        KIB * (self.average(|shape| shape.moment(2)) - mean * mean).max(0.0).sqrt()
    }

    /// The share of the sizes that are below this many bytes, from 0 to 1.
    pub fn share_below(&self, bytes: f64) -> f64 {
        self.average(|shape| shape.below(bytes / KIB))
    }

    /// Draws a size in bytes, rounded to the nearest; at least 1.
    pub fn draw(&self, random: &mut impl RngCore) -> u64 {
        let mut left = unit_interval(random) * self.weights();
        let chosen = self.parts.iter().find(|part| {
            left -= part.weight;
            left < 0.0
        });
        // Rounding may leave nothing for the last one.
        let part = chosen.or(self.parts.last());
        part.map_or(1, |part| (part.shape.draw(random) * KIB).round().max(1.0) as u64)
    }

    fn weights(&self) -> f64 {
        self.parts.iter().map(|part| part.weight).sum()
    }

    fn average(&self, of: impl Fn(&Shape) -> f64) -> f64 {
        self.parts.iter().map(|part| part.weight * of(&part.shape)).sum::<f64>() / self.weights()
    }

    /// The fault of its numbers, if there is one.
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.parts.is_empty() {
            return Some("it has no parts");
        }
        let is_weight = |part: &Part| part.weight.is_finite() && part.weight > 0.0;
        if !self.parts.iter().all(is_weight) {
            return Some("a weight is more than 0");
        }
        self.parts.iter().find_map(|part| part.shape.fault())
    }
}
