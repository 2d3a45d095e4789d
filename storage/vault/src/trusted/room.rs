//! Room on the trusted disk that is kept for when it is full: a file of bytes that stand for nothing, given up piece by piece.
//!
//! A write that finds the disk full takes a piece of it and is repeated, so neither the database nor the places' file hears of
//! a full disk as long as there is a piece left. From the first one on, [writes are refused](Room::refuses_writes). Reads go
//! on, each of which needs a record and may bring a block into the stash, until what is left is needed for what is owed:
//! evictions and batches that have begun, a checkpoint, deletions of rows, another opening. When the disk has room again the
//! file is filled up, and everything is as before.

use super::failure::is_full;
use super::header::VaultParameters;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// The least that is given up at once, in bytes.
const PIECE: u64 = 32 << 10;
/// Bytes of what comes beside payloads for each access: its record, and the database's pages around it.
const ACCESS: u64 = 4096;
/// Bytes that disks give together.
const PAGE: u64 = 4096;
/// The most bytes that are kept for reads, unless fewer than [`MIN_READS`] would fit.
const FOR_READS: u64 = 8 << 20;
const MIN_READS: u64 = 16;

/// The time between two looks for room.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// Bytes on the trusted disk that can be given up, and taken again.
pub trait Reserve: Debug + Send + Sync + 'static {
    /// The bytes that it holds.
    fn held(&self) -> u64;

    /// Holds so many bytes.
    ///
    /// # Errors
    /// The disk has no room for them; then it holds as many as before, or fewer.
    fn hold(&self, bytes: u64) -> io::Result<()>;
}

/// The sizes of what is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReserveSizes {
    /// The bytes that are kept in all.
    pub whole: u64,
    /// Of them, those that reads leave for what is owed.
    pub owed: u64,
    /// The bytes that a read may take.
    pub access: u64,
}

impl ReserveSizes {
    /// The reads that this many bytes are enough for; what is given up at once may be a piece too much.
    pub fn reads(&self, held: u64) -> u64 {
        held.saturating_sub(self.owed + PIECE) / self.access.max(1)
    }
}

impl VaultParameters {
    /// The room that is kept on the trusted disk for when it is full.
    pub fn reserve(&self) -> ReserveSizes {
        let block = u64::from(self.scheme.block_bytes());
        let access = block + ACCESS;
        // A batch that has begun may hold writes: a payload in the journal, and one in the stash.
        let batch = u64::from(self.scheme.max_batch()) * (2 * block + ACCESS);
        let owed = (2 << 20) + batch + self.latest_checkpoint() * ACCESS / 2;
        let reads = (FOR_READS / access).clamp(MIN_READS, self.checkpoint_every.max(MIN_READS));
        ReserveSizes { whole: (owed + reads * access + PIECE).next_multiple_of(PAGE), owed, access }
    }
}

/// The room of a vault at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomFigures {
    /// The sizes of what is kept; zeros where nothing is.
    pub sizes: ReserveSizes,
    /// The bytes that are left.
    pub held: u64,
    /// True if the disk was full, and has not had room again.
    pub is_full: bool,
}

impl RoomFigures {
    /// The reads for which there is room at least.
    pub fn reads(&self) -> u64 {
        self.sizes.reads(self.held)
    }

    /// Returns whether what is left is for what is owed: reads are refused.
    pub fn refuses_reads(&self) -> bool {
        self.is_full && self.held < self.sizes.owed + self.sizes.access
    }

    /// Returns whether reads are refused, or will be when three of four that there was room for have come.
    pub fn is_nearly_exhausted(&self) -> bool {
        self.is_full && self.reads() <= self.sizes.reads(self.sizes.whole) / 4
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// The place of its file, if it is to be one.
    path: Option<PathBuf>,
    reserve: OnceLock<Box<dyn Reserve>>,
    sizes: OnceLock<ReserveSizes>,
    held: AtomicU64,
    is_full: AtomicBool,
    /// Held while the reserve changes.
    turn: Mutex<()>,
    /// The next look for room.
    next_check: Mutex<Option<Instant>>,
}

impl Room {
    /// A room beside a database, with what an earlier opening has left of its file.
    pub(super) fn next_to(database: &Path) -> Self {
        let path = database.with_extension("reserve");
        let room = Room { path: Some(path.clone()), ..Room::default() };
        if let Ok(file) = OpenOptions::new().read(true).write(true).open(path) {
            room.set_reserve(ReserveFile(file));
        }
        room
    }

    /// Uses this reserve.
    pub(super) fn set_reserve(&self, reserve: impl Reserve) {
        self.held.store(reserve.held(), Ordering::Relaxed);
        let _ = self.reserve.set(Box::new(reserve));
    }

    /// Keeps so much from now on.
    pub(crate) fn set_sizes(&self, sizes: ReserveSizes) {
        // It is made when a vault is opened: a command that fails before leaves nothing. A disk without room for an empty file
        // has none to keep.
        if let (None, Some(path)) = (self.reserve.get(), &self.path) {
            let mut file = OpenOptions::new();
            file.read(true).write(true).create(true).truncate(false);
            file.open(path).into_iter().for_each(|file| self.set_reserve(ReserveFile(file)));
        }
        if self.reserve.get().is_none() {
            return;
        }
        let _ = self.sizes.set(sizes);
        self.fill();
        if self.held.load(Ordering::Relaxed) < sizes.whole {
            self.on_full();
        }
    }

    /// The moment of the next look for room, if there was none.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        let mut next = self.next_check.lock().expect("nobody panics with this lock");
        if !self.is_full.load(Ordering::Relaxed) {
            *next = None;
            return None;
        }
        Some(*next.get_or_insert_with(|| Instant::now() + CHECK_EVERY))
    }

    /// Looks whether there is room again, if it is time.
    pub(crate) fn check_if_due(&self, now: Instant) {
        if self.next_check().is_none_or(|at| at > now) {
            return;
        }
        *self.next_check.lock().expect("nobody panics with this lock") = None;
        self.fill();
        let RoomFigures { sizes, held, .. } = self.figures();
        if held >= sizes.whole {
            self.is_full.store(false, Ordering::Relaxed);
            tracing::info!("the trusted folder's disk has room again: writes are taken");
        }
    }

    /// Returns whether the disk was full, and has not had room again: writes are refused from then on.
    pub(crate) fn refuses_writes(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Returns whether what is left is for what is owed: no access may begin.
    pub(crate) fn refuses_accesses(&self) -> bool {
        self.figures().refuses_reads()
    }

    /// The figures of this moment.
    pub(crate) fn figures(&self) -> RoomFigures {
        RoomFigures {
            sizes: self.sizes.get().copied().unwrap_or_default(),
            held: self.held.load(Ordering::Relaxed),
            is_full: self.is_full.load(Ordering::Relaxed),
        }
    }

    /// Does work that writes at most so many bytes, and repeats it as long as the disk is full and there is a piece left.
    pub(super) fn retry_with_room<T>(&self, bytes: u64, work: impl Fn() -> io::Result<T>) -> io::Result<T> {
        loop {
            match work() {
                Err(error) if is_full(&error) && self.give_up(bytes) => {}
                done => return done,
            }
        }
    }

    /// Gives up a piece for so many bytes; `false` if there is none left.
    fn give_up(&self, bytes: u64) -> bool {
        let Some(reserve) = self.reserve.get() else { return false };
        let _turn = self.turn.lock().expect("nobody panics with this lock");
        let held = reserve.held();
        let left = held.saturating_sub(bytes.max(PIECE));
        let has_given = held > 0 && reserve.hold(left).is_ok();
        self.held.store(reserve.held(), Ordering::Relaxed);
        if has_given {
            self.on_full();
        }
        has_given
    }

    fn fill(&self) {
        let (Some(reserve), Some(sizes)) = (self.reserve.get(), self.sizes.get()) else { return };
        let _turn = self.turn.lock().expect("nobody panics with this lock");
        // It is larger where a vault with larger blocks was before.
        if reserve.held() != sizes.whole {
            // It is tried again at the next look.
            let _ = reserve.hold(sizes.whole);
        }
        self.held.store(reserve.held(), Ordering::Relaxed);
    }

    fn on_full(&self) {
        if !self.is_full.swap(true, Ordering::Relaxed) {
            let figures = self.figures();
            tracing::warn!(
                reserve = figures.held,
                reads = figures.reads(),
                "the trusted folder's disk is full: writes are refused, and at least so many reads are answered from its \
                 reserve; free some space"
            );
        }
    }
}

/// A file of zeros whose bytes the disk has set aside.
#[derive(Debug)]
struct ReserveFile(File);

impl Reserve for ReserveFile {
    fn held(&self) -> u64 {
        self.0.metadata().map_or(0, |file| file.len())
    }

    fn hold(&self, bytes: u64) -> io::Result<()> {
        let held = self.held();
        if bytes > held {
            let taken = set_aside(&self.0, held, bytes - held);
            if taken.is_err() {
                self.0.set_len(held)?;
            }
            return taken;
        }
        self.0.set_len(bytes)?;
        // What is let go of can be used when this is durable, on some file systems.
        self.0.sync_all()
    }
}

/// Has the disk set bytes aside at the end of a file.
#[cfg(target_os = "linux")]
fn set_aside(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), from, bytes) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => write_zeros(file, from, bytes),
        done => done.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
fn set_aside(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    write_zeros(file, from, bytes)
}

fn write_zeros(mut file: &File, from: u64, bytes: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(from))?;
    let zeros = [0; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let chunk = left.min(zeros.len() as u64);
        file.write_all(&zeros[..chunk as usize])?;
        left -= chunk;
    }
    file.sync_all()
}
