//! A row of the page's maps.

use serde::Serialize;

/// A row of cells, which divide a range of buckets evenly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The number of buckets.
    pub buckets: u64,
    /// The number of reads of each cell.
    pub reads: Vec<u64>,
    /// The number of writes of each cell.
    pub writes: Vec<u64>,
}
