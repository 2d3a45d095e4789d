//! The file of the stash's slots. It is created when a payload is first written.
//!
//! It is a [file next to the database](super::companion_file).
//!
//! If steps read slots, the operating system is told to cache nothing of the file. A cached slot would be read faster,
//! and the cache would take more memory than intended.

use super::companion_file;
use super::disk_reserve::DiskReserve;
use redb::StorageBackend;
use redb::backends::FileBackend;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The number of bytes that the operating system caches together.
const PAGE: u64 = 4096;

/// The file of the stash's slots.
#[derive(Default)]
pub(super) struct SlotFile {
    file: OnceLock<Box<dyn StorageBackend>>,
    /// The file, for advice to the operating system, or none for a backend that was given.
    advised: OnceLock<File>,
    /// True if the operating system must cache nothing of the file.
    uncached: AtomicBool,
    /// The folder of the database; `None` for a backend that was given.
    folder: Option<PathBuf>,
    reserve: Arc<DiskReserve>,
}

impl SlotFile {
    /// A file in the folder of this database.
    pub(super) fn next_to(database: &Path, reserve: Arc<DiskReserve>) -> Self {
        SlotFile { folder: Some(companion_file::folder_of(database)), reserve, ..SlotFile::default() }
    }

    /// A file in a backend that the caller provides.
    pub(super) fn with_backend(file: impl StorageBackend, reserve: Arc<DiskReserve>) -> Self {
        let file = WithReserve { file, reserve: Arc::clone(&reserve) };
        let file = OnceLock::from(Box::new(file) as Box<dyn StorageBackend>);
        SlotFile { file, reserve, ..SlotFile::default() }
    }

    /// Tells the operating system to cache nothing of the file from now on.
    pub(super) fn set_uncached(&self) {
        self.uncached.store(true, Ordering::Relaxed);
        self.disable_read_ahead();
    }

    /// Drops these bytes, and the rest of their pages, from the operating system's cache. They are durable.
    pub(super) fn forget(&self, bytes: Range<u64>) {
        let from = bytes.start - bytes.start % PAGE;
        self.advise(from, NonZeroU64::new(bytes.end.next_multiple_of(PAGE) - from), Advice::Forget);
    }

    /// Drops the whole file, which is durable, from the operating system's cache.
    pub(super) fn forget_all(&self) {
        self.advise(0, None, Advice::Forget);
    }

    fn disable_read_ahead(&self) {
        self.advise(0, None, Advice::DisableReadAhead);
    }

    /// Gives the operating system advice on this many bytes, or on all from the offset on, if it must cache nothing.
    fn advise(&self, offset: u64, bytes: Option<NonZeroU64>, advice: Advice) {
        if let (true, Some(file)) = (self.uncached.load(Ordering::Relaxed), self.advised.get()) {
            advise(file, offset, bytes, advice);
        }
    }

    /// The file, if it is open.
    pub(super) fn get(&self) -> Option<&dyn StorageBackend> {
        self.file.get().map(|file| &**file)
    }

    /// Opens the file of this name.
    pub(super) fn open(&self, name: &str) -> io::Result<&dyn StorageBackend> {
        self.take(companion_file::open(self.folder(), name)?)
    }

    /// Creates a file with a new name; durable when this returns.
    pub(super) fn make(&self) -> io::Result<String> {
        let (name, file) = companion_file::create(self.folder(), "stash", &self.reserve)?;
        self.take(file)?;
        Ok(name)
    }

    fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new(""))
    }

    fn take(&self, file: File) -> io::Result<&dyn StorageBackend> {
        let advised = file.try_clone()?;
        let file = FileBackend::new(file).map_err(io::Error::other)?;
        let file = WithReserve { file, reserve: Arc::clone(&self.reserve) };
        let file = &**self.file.get_or_init(|| Box::new(file));
        self.advised.get_or_init(|| advised);
        self.disable_read_ahead();
        Ok(file)
    }
}

/// A file whose writes take some of the [reserve](super::disk_reserve) when they find no room.
#[derive(Debug)]
struct WithReserve<B> {
    file: B,
    reserve: Arc<DiskReserve>,
}

impl<B: StorageBackend> StorageBackend for WithReserve<B> {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.reserve.retry_with_reserve(0, || self.file.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.reserve.retry_with_reserve(data.len() as u64, || self.file.write(offset, data))
    }
}

enum Advice {
    Forget,
    DisableReadAhead,
}

/// Gives the operating system advice on a file, if there is such a call.
#[cfg(target_os = "linux")]
fn advise(file: &File, offset: u64, bytes: Option<NonZeroU64>, advice: Advice) {
    let advice = match advice {
        Advice::Forget => rustix::fs::Advice::DontNeed,
        Advice::DisableReadAhead => rustix::fs::Advice::Random,
    };
    let _ = rustix::fs::fadvise(file, offset, bytes, advice);
}

#[cfg(not(target_os = "linux"))]
fn advise(_: &File, _: u64, _: Option<NonZeroU64>, _: Advice) {}
