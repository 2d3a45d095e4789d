//! The rows of one rate.

use crate::processor::row::Row;
use std::collections::BTreeSet;

/// The rows of one rate, and their programs in the order of the runs.
pub(in crate::processor) struct RunSet<'a> {
    pub(super) pace: String,
    pub(in crate::processor) rows: Vec<&'a Row>,
    pub(super) programs: Vec<&'a str>,
    seeds: BTreeSet<u64>,
}

impl<'a> RunSet<'a> {
    pub(in crate::processor) fn of(rows: impl IntoIterator<Item = &'a Row>, pace: String) -> Self {
        let rows: Vec<&Row> = rows.into_iter().filter(|row| row.pace == pace).collect();
        let mut seen = BTreeSet::new();
        let programs =
            rows.iter().map(|row| row.program.as_str()).filter(|program| seen.insert(*program)).collect();
        let seeds = rows.iter().map(|row| row.seed).collect();
        RunSet { pace, rows, programs, seeds }
    }

    /// The schemes, in the order of the runs.
    pub(super) fn schemes(&self) -> Vec<&'a str> {
        let mut seen = BTreeSet::new();
        self.rows.iter().map(|row| row.scheme.as_str()).filter(|scheme| seen.insert(*scheme)).collect()
    }

    /// The runs of a program by a scheme, one for each seed.
    pub(super) fn of_program(&self, program: &str, scheme: &str) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(move |row| row.program == program && row.scheme == scheme).copied()
    }

    fn row(&self, seed: u64, program: &str, scheme: &str) -> Option<&'a Row> {
        self.of_program(program, scheme).find(|row| row.seed == seed)
    }

    /// The programs of which nothing misses the last-level cache.
    pub(super) fn silent(&self) -> Vec<&'a str> {
        let is_silent =
            |program: &&&str| self.rows.iter().all(|row| row.program != **program || row.is_silent());
        self.programs.iter().filter(is_silent).copied().collect()
    }

    /// Returns whether there are runs of all these schemes.
    pub(super) fn has(&self, schemes: &[&str]) -> bool {
        schemes.iter().all(|scheme| self.rows.iter().any(|row| row.scheme == *scheme))
    }

    /// Returns a measure of each program's run by a scheme, compared with its run by `base`, for each seed.
    pub(super) fn ratios(
        &self,
        base: &str,
        scheme: &str,
        of: impl Fn(&Row, &Row) -> f64,
    ) -> Vec<Vec<Option<f64>>> {
        let ratio = |seed: u64, program: &str| {
            let (base, row) = self.row(seed, program, base).zip(self.row(seed, program, scheme))?;
            Some(of(base, row)).filter(|value| value.is_finite())
        };
        let of_seed = |seed: &u64| self.programs.iter().map(|program| ratio(*seed, program)).collect();
        self.seeds.iter().map(of_seed).collect()
    }
}

/// The median over seeds, unless there is nothing.
pub(super) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = values.get(half)?;
    Some(if values.len() % 2 == 1 { *upper } else { f64::midpoint(values[half - 1], *upper) })
}

/// The mean of all programs for each seed, of values by seed and program.
pub(super) fn means(by_seed: &[Vec<Option<f64>>]) -> Vec<f64> {
    let of_seed = |values: &Vec<Option<f64>>| mean(&values.iter().flatten().copied().collect::<Vec<_>>());
    by_seed.iter().filter_map(of_seed).collect()
}

/// The mean, unless there is nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_the_middle_two() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), Some(2.5));
        assert_eq!(median(std::iter::empty()), None);
    }
}
