//! The requests of the applications: counters of blocks and of names, and the times of batches.

use super::row::Row;
use crate::device::{Device, DeviceError, Flow};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The number of cells of a row.
const CELLS: usize = 64;
/// The number of batches whose times are kept for the latency figures.
const MAX_TIMES: usize = 1024;

/// Counters of requests that only grow. They are as secret as the access pattern: for the owner's page only.
#[derive(Clone, Debug)]
pub struct RequestCounters {
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Counters {
    blocks: u64,
    block_cells: [Cell; CELLS],
    name_cells: [Cell; CELLS],
    /// The blocks read and blocks written.
    sums: Cell,
    times: Mutex<VecDeque<Duration>>,
}

#[derive(Debug, Default)]
struct Cell {
    reads: AtomicU64,
    writes: AtomicU64,
}

impl Cell {
    fn add(&self, write: bool) {
        let counter = if write { &self.writes } else { &self.reads };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// The counters of blocks and of names at one time.
#[derive(Clone, Debug, Serialize)]
pub struct RequestCells {
    /// Blocks, from the first to the last.
    pub blocks: Row,
    /// The names of objects, spread over the cells by their hash: a repeated request uses the same cell.
    pub names: Row,
}

impl RequestCounters {
    /// Creates the counters of a device of this many blocks.
    pub fn new(blocks: u64) -> Self {
        let cells = || std::array::from_fn(|_| Cell::default());
        RequestCounters {
            counters: Arc::new(Counters {
                blocks: blocks.max(1),
                block_cells: cells(),
                name_cells: cells(),
                sums: Cell::default(),
                times: Mutex::default(),
            }),
        }
    }

    fn block(&self, block: u64, write: bool) {
        let cell = u128::from(block) * CELLS as u128 / u128::from(self.counters.blocks);
        if let Some(cell) = self.counters.block_cells.get(cell as usize) {
            cell.add(write);
        }
        self.counters.sums.add(write);
    }

    /// Counts a read or a write of an object's name.
    pub(crate) fn name(&self, account: &str, container: &str, key: &str, write: bool) {
        let mut hash = Sha256::new();
        for part in [account, "\0", container, "\0", key] {
            hash.update(part);
        }
        let first = hash.finalize()[0];
        self.counters.name_cells[usize::from(first) % CELLS].add(write);
    }

    fn time(&self, taken: Duration) {
        let mut times = self.counters.times.lock();
        if times.len() == MAX_TIMES {
            times.pop_front();
        }
        times.push_back(taken);
    }

    /// Returns the counters now.
    pub fn cells(&self) -> RequestCells {
        let row = |cells: &[Cell; CELLS], buckets| Row {
            buckets,
            reads: cells.iter().map(|cell| cell.reads.load(Ordering::Relaxed)).collect(),
            writes: cells.iter().map(|cell| cell.writes.load(Ordering::Relaxed)).collect(),
        };
        RequestCells {
            blocks: row(&self.counters.block_cells, self.counters.blocks),
            names: row(&self.counters.name_cells, 0),
        }
    }

    /// Returns the numbers of blocks read and written so far.
    pub fn blocks(&self) -> (u64, u64) {
        let sums = &self.counters.sums;
        (sums.reads.load(Ordering::Relaxed), sums.writes.load(Ordering::Relaxed))
    }

    /// Forgets the times of batches, for example when the device has changed.
    pub fn forget_times(&self) {
        self.counters.times.lock().clear();
    }

    /// Returns the time in milliseconds within which this share of the last batches was served; `None` if there were
    /// none.
    pub fn latency(&self, share: f64) -> Option<f64> {
        let mut times: Vec<Duration> = self.counters.times.lock().iter().copied().collect();
        times.sort_unstable();
        let last = times.len().checked_sub(1)?;
        Some(times[(last as f64 * share).round() as usize].as_secs_f64() * 1000.0)
    }
}

/// A device whose blocks are counted.
#[derive(Clone, Debug)]
pub struct CountingDevice<D> {
    inner: D,
    counters: RequestCounters,
}

impl<D: Device> CountingDevice<D> {
    /// Counts the requests to `inner`.
    pub fn new(inner: D) -> Self {
        let counters = RequestCounters::new(inner.shape().blocks);
        CountingDevice { inner, counters }
    }

    /// Returns the counters.
    pub fn counters(&self) -> RequestCounters {
        self.counters.clone()
    }
}

impl<D: Device> Device for CountingDevice<D> {
    crate::forward_device!(self => self.inner, shape);
    crate::forward_device!(self => self.inner, rows);

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        blocks.iter().for_each(|&block| self.counters.block(block, false));
        let started = Instant::now();
        let answer = self.inner.read(flow, blocks).await;
        self.counters.time(started.elapsed());
        answer
    }

    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        writes.iter().for_each(|(block, _)| self.counters.block(*block, true));
        let started = Instant::now();
        let answer = self.inner.write(flow, writes).await;
        self.counters.time(started.elapsed());
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemoryDevice;

    #[tokio::test]
    async fn each_block_counts_in_its_cell_as_what_was_done_with_it() {
        let device = CountingDevice::new(MemoryDevice::new(16, 640, 8));
        device.read(Flow(0), vec![0, 9, 639]).await.expect("read");
        device.write(Flow(0), vec![(10, Bytes::from(vec![0; 16]))]).await.expect("written");
        let cells = device.counters().cells().blocks;
        assert_eq!((cells.reads[0], cells.reads[63], cells.writes[1]), (2, 1, 1));
        assert_eq!(device.counters().blocks(), (3, 1));
    }

    #[test]
    fn a_name_always_has_the_same_cell() {
        let counters = RequestCounters::new(1);
        (0..5).for_each(|_| counters.name("account", "container", "key", false));
        let names = counters.cells().names;
        assert!(names.reads.contains(&5) && names.reads.iter().sum::<u64>() == 5);
    }

    #[test]
    fn latency_is_that_of_the_last_batches() {
        let counters = RequestCounters::new(1);
        assert_eq!(counters.latency(0.5), None);
        (1..=2000).for_each(|milliseconds| counters.time(Duration::from_millis(milliseconds)));
        assert_eq!(counters.latency(0.0), Some(977.0));
        assert_eq!(counters.latency(1.0), Some(2000.0));
        counters.forget_times();
        assert_eq!(counters.latency(0.5), None);
    }
}
