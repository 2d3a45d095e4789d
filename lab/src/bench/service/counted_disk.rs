//! A trusted disk that counts what is written to it.

use super::super::BenchError;
use redb::StorageBackend;
use redb::backends::FileBackend;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The traffic of the trusted disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskUsage {
    /// The number of bytes written: journal, checkpoints, and what the database needs for itself.
    pub(crate) written: u64,
    /// The number of bytes read.
    pub(crate) read: u64,
    /// The number of syncs.
    pub(crate) syncs: u64,
}

impl DiskUsage {
    /// The traffic of this file and of another.
    pub(crate) fn with(&self, other: &DiskUsage) -> DiskUsage {
        DiskUsage {
            written: self.written + other.written,
            read: self.read + other.read,
            syncs: self.syncs + other.syncs,
        }
    }

    /// The traffic since an earlier reading.
    pub(crate) fn since(&self, earlier: &DiskUsage) -> DiskUsage {
        DiskUsage {
            written: self.written - earlier.written,
            read: self.read - earlier.read,
            syncs: self.syncs - earlier.syncs,
        }
    }
}

/// Reads the counts from anywhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskUsageReader(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    read: AtomicU64,
    syncs: AtomicU64,
    /// Handles of openings before this one are dead.
    opening: AtomicU64,
}

impl DiskUsageReader {
    pub(crate) fn usage(&self) -> DiskUsage {
        DiskUsage {
            written: self.0.written.load(Ordering::Relaxed),
            read: self.0.read.load(Ordering::Relaxed),
            syncs: self.0.syncs.load(Ordering::Relaxed),
        }
    }

    /// Kills the process that has the file open: from now on the file refuses its changes, as if the process were
    /// gone.
    pub(crate) fn kill(&self) {
        self.0.opening.fetch_add(1, Ordering::Relaxed);
    }
}

/// A file of the trusted disk: the database, or the places of the stash.
#[derive(Debug)]
pub(crate) struct CountedDisk {
    file: FileBackend,
    counts: DiskUsageReader,
    opening: u64,
}

impl CountedDisk {
    /// Opens or creates the file; its traffic is added to `counts`.
    pub(crate) fn open(path: &Path, counts: &DiskUsageReader) -> Result<Self, BenchError> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = FileBackend::new(file.map_err(BenchError::failed)?).map_err(BenchError::failed)?;
        Ok(CountedDisk { file, counts: counts.clone(), opening: counts.0.opening.load(Ordering::Relaxed) })
    }

    fn check_not_killed(&self) -> io::Result<()> {
        match self.opening == self.counts.0.opening.load(Ordering::Relaxed) {
            true => Ok(()),
            false => Err(io::Error::other("this process was killed")),
        }
    }
}

impl StorageBackend for CountedDisk {
    fn len(&self) -> Result<u64, io::Error> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.counts.0.read.fetch_add(out.len() as u64, Ordering::Relaxed);
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.check_not_killed()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.check_not_killed()?;
        self.counts.0.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.check_not_killed()?;
        self.counts.0.written.fetch_add(data.len() as u64, Ordering::Relaxed);
        self.file.write(offset, data)
    }

    fn close(&self) -> Result<(), io::Error> {
        self.file.close()
    }
}
