//! Counts of draws over cells, a row for each class, and their test.

use super::super::bounds::{ALARM_LOG2, log2_of_many, log2_of_ratio};
use super::super::leaves::enough;
use super::super::limits::{self, Limit};
use super::super::statistics::{Finding, half_ratio};
use super::classes::Classes;
use super::names::Names;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The meaning of a table's rows.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rows {
    /// Classes of draws.
    Classes,
    /// Counts of the unread slots among which one was chosen, first those of accesses, then those of evictions.
    Among,
    /// Levels of buckets, of accesses and of evictions in turn.
    Levels,
    /// The bits of leaves, and whether two leaves differ.
    Bits,
    /// Leaves that an access drew for a later one, after those that were drawn when they were shown.
    Drawn,
}

/// The rows of pairs of bits.
pub(super) const BITS: usize = 64 * 64;

/// Counts of one family.
pub(super) struct Table {
    family: &'static str,
    rows: Rows,
    /// The counts of each row; empty if nothing was counted.
    counts: Vec<Vec<u64>>,
}

/// The least bias that is found 99 times in 100 in a class of draws.
#[derive(Clone, Debug)]
pub struct Power {
    /// The family of tests.
    pub family: &'static str,
    /// The class of draws.
    pub class: String,
    /// The number of draws.
    pub draws: u64,
    /// The number of cells of the counts.
    pub cells: usize,
    /// The share of these draws that is found if it falls into one cell.
    pub limit: Limit,
}

/// A deviation of a row: the log2 of the bound on its probability, and what deviates.
struct Deviation {
    log2_p: f64,
    of: String,
}

impl Table {
    pub(super) fn new(family: &'static str, rows: Rows) -> Self {
        Table { family, rows, counts: Vec::new() }
    }

    pub(super) fn family(&self) -> &'static str {
        self.family
    }

    /// Counts a draw in a cell of a row of this many cells.
    pub(super) fn count(&mut self, row: usize, cells: usize, cell: usize) {
        if self.counts.len() <= row {
            self.counts.resize(row + 1, Vec::new());
        }
        let counts = &mut self.counts[row];
        if counts.is_empty() {
            *counts = vec![0; cells];
        }
        counts[cell] += 1;
    }

    /// The rows that hold enough draws to say anything.
    fn full_rows(&self) -> impl Iterator<Item = (usize, &Vec<u64>)> {
        self.counts.iter().enumerate().filter(|(_, counts)| counts.len() > 1 && enough(counts))
    }

    fn name(&self, row: usize, classes: &Classes) -> String {
        match self.rows {
            Rows::Classes => classes.name(row),
            Rows::Among if row.is_multiple_of(2) => format!("{} unread, by an access", row / 2),
            Rows::Among => format!("{} unread, by an eviction", row / 2),
            Rows::Levels if row.is_multiple_of(2) => format!("level {}, by an access", row / 2),
            Rows::Levels => format!("level {}, by an eviction", row / 2),
            Rows::Bits if row >= BITS => format!("{}, drawn for later", self.name(row - BITS, classes)),
            Rows::Bits if row / 64 == row % 64 => format!("bit {}", row / 64),
            Rows::Bits => format!("bits {} and {}", row / 64, row % 64),
            Rows::Drawn if row == 0 => "drawn for now".to_string(),
            Rows::Drawn => "drawn for later".to_string(),
        }
    }

    /// Tests all rows: the least of their probabilities, times their number.
    pub(super) fn test(&self, classes: &Classes) -> Option<Finding> {
        let rows = self.full_rows().count() as f64;
        let deviation = |(row, counts): (usize, &Vec<u64>)| {
            let Deviation { log2_p, of } = deviation(counts);
            Deviation { log2_p, of: format!("{}, {of}", self.name(row, classes)) }
        };
        let worst =
            self.full_rows().map(deviation).min_by(|one, other| one.log2_p.total_cmp(&other.log2_p))?;
        let log2_p = (worst.log2_p + libm::log2(rows)).min(0.0);
        let mut largest_first: Vec<&Vec<u64>> = self.full_rows().map(|(_, counts)| counts).collect();
        largest_first.sort_by_key(|counts| Reverse(counts.iter().sum::<u64>()));
        let limit = largest_first.into_iter().find_map(|counts| limit(counts, rows));
        Some(Finding {
            name: format!("pooled: {}", self.family),
            figure: format!("{rows} rows; {}", worst.of),
            log2_p,
            limit,
        })
    }

    /// The limit of each row.
    pub(super) fn powers(&self, classes: &Classes) -> Vec<Power> {
        let rows = self.full_rows().count() as f64;
        let power = |(row, counts): (usize, &Vec<u64>)| {
            let limit = limit(counts, rows)?;
            let (class, draws) = (self.name(row, classes), counts.iter().sum());
            Some(Power { family: self.family, class, draws, cells: counts.len(), limit })
        };
        self.full_rows().filter_map(power).collect()
    }
}

/// The limit of one of this many rows.
fn limit(counts: &[u64], rows: f64) -> Option<Limit> {
    limits::of_cell(counts.iter().sum(), counts.len(), alarm(counts.len()) - libm::log2(rows))
}

/// The log2 of the probability in one tail of one cell at which a row of this many cells alarms. Each cell has two
/// tails, and the row has its likelihood ratio in addition.
fn alarm(cells: usize) -> f64 {
    ALARM_LOG2 - libm::log2(4.0 * cells as f64)
}

/// Bounds the probability of a row. The bound is twice the smaller of two bounds: by the likelihood ratio of the row,
/// and by the cell that deviates most.
fn deviation(counts: &[u64]) -> Deviation {
    let n: u64 = counts.iter().sum();
    let mean = n as f64 / counts.len() as f64;
    let of_cell =
        |observed: u64| log2_of_many(n, mean, observed).min(log2_of_many(n, n as f64 - mean, n - observed));
    let cells = counts.iter().map(|observed| of_cell(*observed)).enumerate();
    let (cell, min) = cells.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0));
    let of_cell = min + libm::log2(4.0 * counts.len() as f64);
    let of_row = log2_of_ratio(half_ratio(counts).max(0.0), counts.len() as f64 - 1.0) + 1.0;
    let of = format!("cell {cell} of {}: {} of {n}, {mean:.1} expected", counts.len(), counts[cell]);
    Deviation { log2_p: of_cell.min(of_row), of }
}

#[cfg(test)]
mod tests {
    use super::super::super::observer::draw_below;
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Counts of this many draws. This share of the draws falls into the first cell or, if the share is negative, into
    /// another cell.
    fn table(random: &mut ChaCha8Rng, n: usize, cells: usize, share: f64) -> Table {
        let mut table = Table::new("draws", Rows::Drawn);
        for _ in 0..n {
            let is_forced = (draw_below(random, 1 << 30) as f64) < share.abs() * f64::from(1 << 30);
            let cell = match (is_forced, share < 0.0) {
                (true, true) => 1 + draw_below(random, cells - 1),
                (true, false) => 0,
                _ => draw_below(random, cells),
            };
            table.count(0, cells, cell);
        }
        table
    }

    fn alarms(table: &Table) -> bool {
        table.test(&Classes::default()).is_some_and(|finding| finding.log2_p < ALARM_LOG2)
    }

    #[test]
    fn a_bias_of_one_cell_is_found_at_the_limit_that_is_stated_and_not_at_half_of_it() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for (n, cells) in [(20_000, 16), (40_000, 32), (30_000, 2)] {
            let limit = table(&mut random, n, cells, 0.0).powers(&Classes::default())[0].limit.share;
            let mut found = |share| (0..50).filter(|_| alarms(&table(&mut random, n, cells, share))).count();
            assert!(found(limit) >= 46, "{n} draws, {cells} cells, {limit}");
            assert!(found(limit / 2.0) <= 4, "{n} draws, {cells} cells, {limit}");
            assert_eq!(found(0.0), 0);
        }
    }

    #[test]
    fn a_cell_that_is_never_drawn_is_found_once_thirty_four_draws_of_it_are_missing() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        assert!(alarms(&table(&mut random, 34 * 1024, 1024, -1.0)));
        assert!(!alarms(&table(&mut random, 34 * 1024, 1024, 0.0)));
    }
}
