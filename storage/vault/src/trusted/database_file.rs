//! The file below the database: one whose making was cut off counts as none, a write that finds no room gets some of the
//! [reserve](super::room), and the first failure is remembered.
//!
//! redb gives a new file its length, then a header, and what it knows its files by comes last. A process that dies before that
//! leaves a file that redb refuses for good. Such a file has zeros where redb's mark would be, and nothing but zeros behind
//! its header: nothing was ever put into it.

use crate::trusted::failure::FirstFailure;
use crate::trusted::room::Room;
use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of redb's mark, at the begin of a file.
const MARK: u64 = 9;
/// Bytes of the page that the header is in.
const HEADER: u64 = 4096;

/// A backend that is emptied before it is opened, if no database in it was ever complete.
#[derive(Debug)]
pub(super) struct DatabaseFile<B> {
    backend: B,
    was_checked: AtomicBool,
    first_failure: FirstFailure,
    room: Arc<Room>,
}

impl<B: StorageBackend> DatabaseFile<B> {
    pub(super) fn new(backend: B, first_failure: FirstFailure, room: Arc<Room>) -> Self {
        DatabaseFile { backend, was_checked: AtomicBool::new(false), first_failure, room }
    }

    /// Returns whether there are zeros in place of a mark and behind the header.
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
    /// The first time, redb has locked the file: no other process is making it.
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
        self.first_failure.note(self.room.retry_with_room(0, || self.backend.set_len(len)))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.first_failure.note(self.backend.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let bytes = data.len() as u64;
        self.first_failure.note(self.room.retry_with_room(bytes, || self.backend.write(offset, data)))
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
