//! Doubles for tests: a device in memory, which records its operations and fails on request, and a log in memory.

use crate::device::{Device, DeviceError, DeviceShape, Flow, Row, RowChange};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// An operation of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A batch of reads of these blocks.
    Read(Vec<u64>),
    /// A batch of writes of these blocks.
    Write(Vec<u64>),
    /// A commit of this many rows.
    Rows(usize),
}

/// The outcome of the next commits of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitFault {
    /// Commits succeed.
    #[default]
    None,
    /// Commits are refused with [`DeviceError::RowsFull`].
    RowsFull,
    /// Commits fail and change nothing.
    Before,
    /// Commits fail, but the changes are made.
    After,
}

/// The operations at which the device fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The number of blocks that can still be read before every read fails.
    pub reads_left: Option<u64>,
    /// The number of blocks that can still be written before every write fails. A batch that fails writes its first
    /// blocks.
    pub writes_left: Option<u64>,
    /// The outcome of commits.
    pub commits: CommitFault,
    /// The number of commits that succeed before that outcome.
    pub commits_left: u64,
}

/// Blocks and rows in memory. Put it in an [`Arc`] to open it again or to look at its log.
#[derive(Debug)]
pub struct MemoryDevice {
    shape: DeviceShape,
    state: Mutex<State>,
    writing: tokio::sync::RwLock<()>,
    committing: tokio::sync::RwLock<()>,
}

#[derive(Debug, Default)]
struct State {
    blocks: HashMap<u64, Bytes>,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    log: Vec<Event>,
    faults: Faults,
    rows_bytes: Option<u64>,
}

impl MemoryDevice {
    /// Creates a device of zeros.
    pub fn new(block_bytes: usize, blocks: u64, max_batch: usize) -> Self {
        Self::of(DeviceShape {
            block_bytes,
            blocks,
            max_batch,
            rows_bytes: u64::MAX,
            row_bytes_per_access: None,
        })
    }

    /// Creates a device of zeros on which this many bytes of changes of rows cost an access.
    pub fn with_costly_rows(block_bytes: usize, blocks: u64, row_bytes_per_access: u64) -> Self {
        let MemoryDevice { shape, .. } = Self::new(block_bytes, blocks, 16);
        Self::of(DeviceShape { row_bytes_per_access: Some(row_bytes_per_access), ..shape })
    }

    fn of(shape: DeviceShape) -> Self {
        MemoryDevice {
            shape,
            state: Mutex::default(),
            writing: tokio::sync::RwLock::default(),
            committing: tokio::sync::RwLock::default(),
        }
    }

    /// Sets the faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.state.lock().faults = faults;
    }

    /// Bounds the bytes of keys and values of rows from now on. [`Device::shape`] still reports no bound.
    pub fn bound_rows(&self, bytes: u64) {
        self.state.lock().rows_bytes = Some(bytes);
    }

    /// Holds up all writes of blocks until the guard is dropped.
    pub async fn hold_writes(&self) -> impl Drop + '_ {
        self.writing.write().await
    }

    /// Holds up all commits of rows until the guard is dropped.
    pub async fn hold_commits(&self) -> impl Drop + '_ {
        self.committing.write().await
    }

    /// Returns the operations since the last call.
    pub fn take_log(&self) -> Vec<Event> {
        std::mem::take(&mut self.state.lock().log)
    }

    /// Returns the numbers of blocks read and written since the log was last taken, and empties the log.
    pub fn take_accesses(&self) -> (u64, u64) {
        let mut counts = (0, 0);
        for event in self.take_log() {
            match event {
                Event::Read(blocks) => counts.0 += blocks.len() as u64,
                Event::Write(blocks) => counts.1 += blocks.len() as u64,
                Event::Rows(_) => {}
            }
        }
        counts
    }

    /// Copies what is durable now into a new device: the state after a kill.
    pub fn after_kill(&self) -> MemoryDevice {
        let copy = MemoryDevice::of(self.shape);
        {
            let (state, mut copy_state) = (self.state.lock(), copy.state.lock());
            (copy_state.blocks, copy_state.rows) = (state.blocks.clone(), state.rows.clone());
        }
        copy
    }

    /// Changes rows without the gateway's knowledge.
    pub fn edit_rows(&self, edit: impl FnOnce(&mut BTreeMap<Vec<u8>, Vec<u8>>)) {
        edit(&mut self.state.lock().rows);
    }
}

fn bytes_of(rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> u64 {
    rows.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum()
}

fn apply(rows: &mut BTreeMap<Vec<u8>, Vec<u8>>, changes: Vec<RowChange>) {
    for (key, value) in changes {
        match value {
            Some(value) => rows.insert(key, value),
            None => rows.remove(&key),
        };
    }
}

fn failure() -> DeviceError {
    DeviceError::Unavailable("simulated failure".into())
}

fn spend(copy_state: &mut Option<u64>) -> Result<(), DeviceError> {
    match copy_state {
        None => Ok(()),
        Some(0) => Err(failure()),
        Some(copy_state) => {
            *copy_state -= 1;
            Ok(())
        }
    }
}

impl MemoryDevice {
    fn check_batch(&self, blocks: &[u64]) -> Result<(), DeviceError> {
        if blocks.len() > self.shape.max_batch || blocks.iter().any(|&block| block >= self.shape.blocks) {
            return Err(DeviceError::Unavailable("a batch too long or a block out of range".into()));
        }
        Ok(())
    }
}

impl Device for MemoryDevice {
    fn shape(&self) -> DeviceShape {
        self.shape
    }

    fn rows_free(&self) -> u64 {
        let state = self.state.lock();
        state.rows_bytes.map_or(u64::MAX, |max| max.saturating_sub(bytes_of(&state.rows)))
    }

    async fn read(&self, _: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        tokio::task::yield_now().await;
        self.check_batch(&blocks)?;
        let mut state = self.state.lock();
        let zeros = Bytes::from(vec![0; self.shape.block_bytes]);
        let mut answer = Vec::with_capacity(blocks.len());
        for block in &blocks {
            spend(&mut state.faults.reads_left)?;
            answer.push(state.blocks.get(block).unwrap_or(&zeros).clone());
        }
        state.log.push(Event::Read(blocks));
        Ok(answer)
    }

    async fn write(&self, _: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        let _allowed = self.writing.read().await;
        tokio::task::yield_now().await;
        let blocks: Vec<u64> = writes.iter().map(|(block, _)| *block).collect();
        self.check_batch(&blocks)?;
        let mut state = self.state.lock();
        for (block, bytes) in writes {
            if bytes.len() != self.shape.block_bytes {
                return Err(DeviceError::Unavailable("a block of a wrong length".into()));
            }
            spend(&mut state.faults.writes_left)?;
            state.blocks.insert(block, bytes);
        }
        state.log.push(Event::Write(blocks));
        Ok(())
    }

    async fn load_rows(&self) -> Result<Vec<Row>, DeviceError> {
        Ok(self.state.lock().rows.clone().into_iter().collect())
    }

    async fn commit_rows(&self, changes: Vec<RowChange>) -> Result<(), DeviceError> {
        let _allowed = self.committing.read().await;
        tokio::task::yield_now().await;
        let mut state = self.state.lock();
        let copy_state = state.faults.commits_left;
        let fault = if copy_state > 0 { CommitFault::None } else { state.faults.commits };
        state.faults.commits_left = copy_state.saturating_sub(1);
        match fault {
            CommitFault::RowsFull => return Err(DeviceError::RowsFull),
            CommitFault::Before => return Err(failure()),
            CommitFault::None | CommitFault::After => {}
        }
        if let Some(max) = state.rows_bytes {
            let mut after = state.rows.clone();
            apply(&mut after, changes.clone());
            if bytes_of(&after) > max.max(bytes_of(&state.rows)) {
                return Err(DeviceError::RowsFull);
            }
        }
        state.log.push(Event::Rows(changes.len()));
        apply(&mut state.rows, changes);
        match fault {
            CommitFault::After => Err(failure()),
            _ => Ok(()),
        }
    }
}

/// A log in memory. Clones are the same log.
#[derive(Clone, Debug, Default)]
pub struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    /// Returns the text logged so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
