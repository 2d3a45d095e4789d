//! Counts accesses to the store by place, in the shape of the scheme's tree, for display.
//!
//! Unlike a [`Recorder`](crate::Recorder) it records no request, so that it can run for years.

use crate::blobs::{Blobs, Inventory};
use crate::{forward_blobs, forward_inventory};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bucket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The maximum number of cells of a row: neighbouring buckets share one where there are more of them.
pub const MAX_CELLS: u64 = 64;

/// The counts of touched slots, row by row. Clones are the same counters.
#[derive(Clone, Debug)]
pub struct AccessCounts {
    rows: Arc<Rows>,
}

#[derive(Debug)]
struct Rows {
    layout: Layout,
    /// A row for each extent of the layout: a level of a tree.
    levels: Vec<Row>,
    /// All buckets, in the order of their numbers.
    whole: Row,
}

#[derive(Debug)]
struct Row {
    first: u64,
    buckets: u64,
    reads: Vec<AtomicU64>,
    writes: Vec<AtomicU64>,
}

/// A snapshot of a row of counters, from the left to the right of the tree or from the first bucket to the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessCountsRow {
    /// The number of buckets that the cells of the row stand for.
    pub buckets: u64,
    /// The number of slots read in each cell.
    pub reads: Vec<u64>,
    /// The number of slots written in each cell.
    pub writes: Vec<u64>,
}

impl Row {
    fn new(first: u64, buckets: u64) -> Self {
        let cells = || (0..buckets.min(MAX_CELLS)).map(|_| AtomicU64::new(0)).collect();
        Row { first, buckets, reads: cells(), writes: cells() }
    }

    fn cell(&self, bucket: Bucket) -> usize {
        let place = u128::from(bucket.0 - self.first) * self.reads.len() as u128;
        (place / u128::from(self.buckets)) as usize
    }

    fn contains(&self, bucket: Bucket) -> bool {
        (self.first..self.first + self.buckets).contains(&bucket.0)
    }

    fn snapshot(&self) -> AccessCountsRow {
        let counts = |cells: &[AtomicU64]| cells.iter().map(|cell| cell.load(Ordering::Relaxed)).collect();
        AccessCountsRow { buckets: self.buckets, reads: counts(&self.reads), writes: counts(&self.writes) }
    }
}

impl AccessCounts {
    /// Counters of a layout, all 0.
    pub fn new(layout: &Layout) -> Self {
        let mut first = 0;
        let levels = layout.extents().iter().map(|extent| {
            let row = Row::new(first, extent.buckets);
            first += extent.buckets;
            row
        });
        let levels = levels.collect();
        AccessCounts { rows: Arc::new(Rows { layout: layout.clone(), levels, whole: Row::new(0, first) }) }
    }

    /// Counts that `slots` slots of a bucket were read.
    pub fn read(&self, bucket: Bucket, slots: u64) {
        for row in self.rows_of(bucket) {
            row.reads[row.cell(bucket)].fetch_add(slots, Ordering::Relaxed);
        }
    }

    /// Counts that a whole bucket was written.
    pub fn written(&self, bucket: Bucket) {
        let slots = u64::from(self.rows.layout.extent(bucket).slots);
        for row in self.rows_of(bucket) {
            row.writes[row.cell(bucket)].fetch_add(slots, Ordering::Relaxed);
        }
    }

    fn rows_of(&self, bucket: Bucket) -> impl Iterator<Item = &Row> {
        let level = self.rows.levels.iter().find(move |row| row.contains(bucket));
        level.into_iter().chain([&self.rows.whole])
    }

    /// The levels of the tree, from its root on.
    pub fn levels(&self) -> Vec<AccessCountsRow> {
        self.rows.levels.iter().map(Row::snapshot).collect()
    }

    /// All buckets in one row, in the order of their numbers.
    pub fn whole(&self) -> AccessCountsRow {
        self.rows.whole.snapshot()
    }
}

/// A store that counts the accesses to the store below.
#[derive(Debug)]
pub struct CountedStore<S> {
    inner: S,
    access_counts: AccessCounts,
}

impl<S: Untrusted> CountedStore<S> {
    /// Counts from 0 on.
    pub fn new(inner: S) -> Self {
        let access_counts = AccessCounts::new(inner.layout());
        CountedStore { inner, access_counts }
    }

    /// The counters.
    pub fn access_counts(&self) -> AccessCounts {
        self.access_counts.clone()
    }
}

impl<S: Untrusted> Untrusted for CountedStore<S> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        places.iter().for_each(|place| self.access_counts.read(place.slot.bucket, 1));
        self.inner.read(places, into).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        buckets.iter().for_each(|written| self.access_counts.written(written.bucket));
        self.inner.write(buckets, from).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.inner.delete(buckets).await
    }
}

forward_blobs!([S: Blobs] CountedStore<S>, inner);

forward_inventory!([S: Inventory] CountedStore<S>, inner);

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_core::tree::layout::Extent;

    fn tree() -> AccessCounts {
        let level = |buckets| Extent { buckets, slots: 3, slot_bytes: 8 };
        AccessCounts::new(&Layout::new(vec![level(1), level(2), level(200)]))
    }

    #[test]
    fn a_touch_counts_in_its_level_and_in_the_whole() {
        let access_counts = tree();
        access_counts.read(Bucket(2), 2);
        access_counts.written(Bucket(0));
        let levels = access_counts.levels();
        assert_eq!(levels[0].writes, [3]);
        assert_eq!(levels[1].reads, [0, 2]);
        let whole = access_counts.whole();
        assert_eq!((whole.buckets, whole.reads[0], whole.writes[0]), (203, 2, 3));
    }

    #[test]
    fn every_bucket_has_a_cell_and_the_cells_are_in_their_order() {
        let access_counts = tree();
        for bucket in 0..203 {
            access_counts.read(Bucket(bucket), 1);
        }
        let leaves = &access_counts.levels()[2].reads;
        assert_eq!((leaves.len() as u64, leaves.iter().sum::<u64>()), (MAX_CELLS, 200));
        assert!(leaves.iter().all(|&cell| cell == 3 || cell == 4), "{leaves:?}");
        assert_eq!(access_counts.whole().reads.iter().sum::<u64>(), 203);
    }
}
