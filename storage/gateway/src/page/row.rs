//! A row of the page's maps.

use serde::Serialize;

/// A row of cells, from the first thing that they stand for to the last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The number of things that the cells stand for.
    pub buckets: u64,
    /// Reads, by cell.
    pub reads: Vec<u64>,
    /// Writes, by cell.
    pub writes: Vec<u64>,
}
