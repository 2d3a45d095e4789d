//! The rows of one rate.

use crate::processor::row::Row;
use std::collections::BTreeSet;

/// The rows of one rate, and their programs in the order of the runs.
pub(super) struct RunSet<'a> {
    pub(super) pace: String,
    pub(super) rows: Vec<&'a Row>,
    pub(super) programs: Vec<&'a str>,
}

impl<'a> RunSet<'a> {
    pub(super) fn of(rows: impl IntoIterator<Item = &'a Row>, pace: String) -> Self {
        let rows: Vec<&Row> = rows.into_iter().filter(|row| row.pace == pace).collect();
        let mut seen = BTreeSet::new();
        let programs =
            rows.iter().map(|row| row.program.as_str()).filter(|program| seen.insert(*program)).collect();
        RunSet { pace, rows, programs }
    }

    /// The run of a program by a scheme.
    pub(super) fn row(&self, program: &str, scheme: &str) -> Option<&'a Row> {
        self.rows.iter().find(|row| row.program == program && row.scheme == scheme).copied()
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

    /// A measure of each program's run by a scheme, compared with its run by `base`.
    pub(super) fn ratios(
        &self,
        base: &str,
        scheme: &str,
        of: impl Fn(&Row, &Row) -> f64,
    ) -> Vec<Option<f64>> {
        let ratio = |program: &&str| {
            let (base, row) = self.row(program, base).zip(self.row(program, scheme))?;
            Some(of(base, row)).filter(|value| value.is_finite())
        };
        self.programs.iter().map(ratio).collect()
    }
}

/// The mean, unless there is nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
