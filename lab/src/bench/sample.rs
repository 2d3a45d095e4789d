//! Repeated measurements of one thing.

use serde::Serialize;
use std::borrow::Borrow;

/// Repeated measurements, summed up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The middle one; the mean of the middle two of an even number.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
    /// The number of repetitions.
    pub repetitions: usize,
}

impl Sample {
    /// Summarizes measurements.
    ///
    /// # Panics
    /// If there are not a measurements.
    pub fn of(measured: impl IntoIterator<Item = impl Borrow<f64>>) -> Self {
        let mut sorted: Vec<f64> = measured.into_iter().map(|value| *value.borrow()).collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            panic!("a sample of no measurements");
        };
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        } else {
            sorted[middle]
        };
        Sample { median, min, max, repetitions: sorted.len() }
    }

    /// The measurement that a `share` of all do not exceed.
    ///
    /// # Panics
    /// If there are not a measurements.
    pub fn quantile(measured: &[f64], share: f64) -> f64 {
        let mut sorted = measured.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted[rank.clamp(1, sorted.len()) - 1]
    }

    /// The geometric mean; NaN without values.
    pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
        (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
    }

    /// Returns the sample of a count, which has no spread: it is measured once.
    pub fn once(measured: f64) -> Self {
        Sample::of([measured])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle() {
        assert_eq!(Sample::of([3.0, 1.0, 9.0]).median, 3.0);
        assert_eq!(Sample::of([4.0, 1.0, 9.0, 2.0]).median, 3.0);
        assert_eq!(Sample::quantile(&[4.0, 1.0, 9.0, 2.0], 0.75), 4.0);
        assert_eq!(Sample::quantile(&[4.0, 1.0], 0.99), 4.0);
        let one = Sample::once(7.0);
        assert_eq!((one.median, one.min, one.max, one.repetitions), (7.0, 7.0, 7.0, 1));
    }
}
