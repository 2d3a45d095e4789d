//! The file below the database. A file whose creation was cut off counts as empty. A write that finds no room takes
//! some of the [reserve](super::disk_reserve). The first failure is recorded.
//!
//! redb first sets the length of a new file, then writes a header, and writes its magic number last. If a process dies
//! before that, redb always refuses the file. Such a file has zeros in place of the magic number and only zeros after
//! the header: it never held any data.

use crate::trusted::disk_reserve::DiskReserve;
use crate::trusted::failure::FirstFailure;
use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of bytes of redb's magic number at the start of a file.
const MARK: u64 = 9;
/// The number of bytes of the header's page.
const HEADER: u64 = 4096;

/// A backend that is emptied before it is opened, if its database was never completed.
#[derive(Debug)]
pub(super) struct DatabaseFile<B> {
    backend: B,
    was_checked: AtomicBool,
    first_failure: FirstFailure,
    reserve: Arc<DiskReserve>,
}

impl<B: StorageBackend> DatabaseFile<B> {
    pub(super) fn new(backend: B, first_failure: FirstFailure, reserve: Arc<DiskReserve>) -> Self {
        DatabaseFile { backend, was_checked: AtomicBool::new(false), first_failure, reserve }
    }

    /// Returns whether the magic number and everything after the header are zeros.
    fn was_never_completed(&self) -> io::Result<bool> {
        let end = self.backend.len()?;
        if end == 0 || !self.is_blank(0, end.min(MARK))? {
            return Ok(false);
        }
        let mut at = HEADER;
        while at < end {
            let piece = (end - at).min(1 << 16);
            if !self.is_blank(at, piece)? {
                return Ok(false);
            }
            at += piece;
        }
        Ok(true)
    }

    fn is_blank(&self, at: u64, bytes: u64) -> io::Result<bool> {
        let mut read = vec![0; bytes as usize];
        self.backend.read(at, &mut read)?;
        Ok(read.iter().all(|byte| *byte == 0))
    }
}

impl<B: StorageBackend> StorageBackend for DatabaseFile<B> {
    /// The first call shows that redb has locked the file: no other process is creating it.
    fn len(&self) -> io::Result<u64> {
        if !self.was_checked.swap(true, Ordering::Relaxed) && self.was_never_completed()? {
            self.backend.set_len(0)?;
        }
        self.first_failure.note(self.backend.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.first_failure.note(self.backend.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.first_failure.note(self.reserve.retry_with_reserve(0, || self.backend.set_len(len)))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.first_failure.note(self.backend.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let bytes = data.len() as u64;
        self.first_failure.note(self.reserve.retry_with_reserve(bytes, || self.backend.write(offset, data)))
    }

    fn close(&self) -> io::Result<()> {
        self.backend.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.backend.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.backend.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.backend.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.backend.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.backend.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.backend.query_lock_range(start, end)
    }
}
