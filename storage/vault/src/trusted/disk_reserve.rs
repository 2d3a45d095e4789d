//! The reserve of the trusted disk for when it is full: a file without contents, which is given up piece by piece.
//!
//! A write that finds the disk full takes a piece of the reserve and is repeated. So neither the database nor the slot
//! file nor the journal notices a full disk while a piece is left. From the first piece on, [writes are
//! refused](DiskReserve::refuses_writes). Reads continue; each needs a record, and may bring a block into the stash.
//! They stop when the rest is needed for pending work: evictions and batches in flight, a checkpoint, deletions of
//! rows, another opening. When the disk has room again, the file is filled up, and writes are accepted.

use super::failure::is_full;
use super::header::VaultParameters;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The smallest piece that is given up, in bytes.
const PIECE: u64 = 32 << 10;
/// The number of bytes of an access besides payloads: its record, and the database's pages around it.
const ACCESS: u64 = 4096;
/// The allocation unit of disks, in bytes.
const PAGE: u64 = 4096;
/// The maximum reserve for reads, unless it would be too little for [`MIN_READS`].
const FOR_READS: u64 = 8 << 20;
const MIN_READS: u64 = 16;

/// The time between two checks for room.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// A reserve of bytes on the trusted disk.
pub trait Reserve: Debug + Send + Sync + 'static {
    /// The current size of the reserve.
    fn held(&self) -> u64;

    /// Changes the size of the reserve.
    ///
    /// # Errors
    /// The disk has no room. Then the size is as before, or smaller.
    fn hold(&self, bytes: u64) -> io::Result<()>;
}

/// The sizes of a reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReserveSizes {
    /// The whole reserve, in bytes.
    pub whole: u64,
    /// The part that reads leave for pending work.
    pub pending: u64,
    /// The maximum bytes of a read.
    pub access: u64,
}

impl ReserveSizes {
    /// The number of reads for which this reserve is enough. It allows for one piece too much being given up.
    pub fn reads(&self, held: u64) -> u64 {
        held.saturating_sub(self.pending + PIECE) / self.access.max(1)
    }
}

impl VaultParameters {
    /// The reserve of a vault with these parameters.
    pub fn reserve(&self) -> ReserveSizes {
        let block = u64::from(self.scheme.block_bytes());
        let access = block + ACCESS;
        // Each batch in flight may hold writes: a payload in the journal, and one in the stash.
        let batch = u64::from(self.scheme.max_batch()) * (2 * block + ACCESS);
        let pending =
            (2 << 20) + u64::from(self.scheme.max_batches()) * batch + self.latest_checkpoint() * ACCESS / 2;
        let reads = (FOR_READS / access).clamp(MIN_READS, self.checkpoint_every.max(MIN_READS));
        ReserveSizes { whole: (pending + reads * access + PIECE).next_multiple_of(PAGE), pending, access }
    }
}

/// The figures of the reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReserveFigures {
    /// The sizes of the reserve; zeros if there is none.
    pub sizes: ReserveSizes,
    /// The current size of the reserve.
    pub held: u64,
    /// True if the disk was full and has not had room again.
    pub is_full: bool,
}

impl ReserveFigures {
    /// The minimum number of reads for which there is room.
    pub fn reads(&self) -> u64 {
        self.sizes.reads(self.held)
    }

    /// Returns whether reads are refused, because the rest is for pending work.
    pub fn refuses_reads(&self) -> bool {
        self.is_full && self.held < self.sizes.pending + self.sizes.access
    }

    /// Returns whether reads are refused, or will be after a quarter of the reads for which the whole reserve had room.
    pub fn is_nearly_exhausted(&self) -> bool {
        self.is_full && self.reads() <= self.sizes.reads(self.sizes.whole) / 4
    }
}

/// The reserve of a trusted disk.
#[derive(Debug, Default)]
pub(crate) struct DiskReserve {
    /// The path of the reserve's file, if it has one.
    path: Option<PathBuf>,
    reserve: OnceLock<Box<dyn Reserve>>,
    sizes: OnceLock<ReserveSizes>,
    held: AtomicU64,
    is_full: AtomicBool,
    /// The lock that is held while the reserve changes.
    turn: Mutex<()>,
    /// The time of the next check for room.
    next_check: Mutex<Option<Instant>>,
    full_notify: Notify,
}

impl DiskReserve {
    /// A reserve next to a database, with the file that an earlier opening has left.
    pub(super) fn next_to(database: &Path) -> Self {
        let path = database.with_extension("reserve");
        let reserve = DiskReserve { path: Some(path.clone()), ..DiskReserve::default() };
        if let Ok(file) = OpenOptions::new().read(true).write(true).open(path) {
            reserve.set_reserve(ReserveFile(file));
        }
        reserve
    }

    /// Sets the reserve.
    pub(super) fn set_reserve(&self, reserve: impl Reserve) {
        self.held.store(reserve.held(), Ordering::Relaxed);
        let _ = self.reserve.set(Box::new(reserve));
    }

    /// Sets the sizes of the reserve, and fills it.
    pub(crate) fn set_sizes(&self, sizes: ReserveSizes) {
        // The file is created when a vault is opened: a command that fails earlier leaves none. A disk without room for
        // an empty file has none to reserve.
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

    /// The time of the next check for room, while the disk is full.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        let mut next = self.next_check.lock().expect("no thread panics while it holds this lock");
        if !self.is_full.load(Ordering::Relaxed) {
            *next = None;
            return None;
        }
        Some(*next.get_or_insert_with(|| Instant::now() + CHECK_EVERY))
    }

    /// Waits until a write finds the disk full.
    pub(crate) async fn wait_until_full(&self) {
        self.full_notify.notified().await;
    }

    /// Checks whether there is room again, if it is time.
    pub(crate) fn check_if_due(&self, now: Instant) {
        if self.next_check().is_none_or(|at| at > now) {
            return;
        }
        *self.next_check.lock().expect("no thread panics while it holds this lock") = None;
        self.fill();
        let ReserveFigures { sizes, held, .. } = self.figures();
        if held >= sizes.whole {
            self.is_full.store(false, Ordering::Relaxed);
            tracing::info!("the trusted folder's disk has room again: writes are accepted");
        }
    }

    /// Returns whether writes are refused: the disk was full, and has not had room again.
    pub(crate) fn refuses_writes(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Returns whether no access may start, because the rest is for pending work.
    pub(crate) fn refuses_accesses(&self) -> bool {
        self.figures().refuses_reads()
    }

    /// The current figures.
    pub(crate) fn figures(&self) -> ReserveFigures {
        ReserveFigures {
            sizes: self.sizes.get().copied().unwrap_or_default(),
            held: self.held.load(Ordering::Relaxed),
            is_full: self.is_full.load(Ordering::Relaxed),
        }
    }

    /// Runs work that writes at most this many bytes. Repeats it while the disk is full and a piece is left.
    pub(super) fn retry_with_reserve<T>(
        &self,
        bytes: u64,
        work: impl Fn() -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match work() {
                Err(error) if is_full(&error) && self.give_up(bytes) => {}
                done => return done,
            }
        }
    }

    /// Gives up a piece for this many bytes. Returns `false` if none is left.
    fn give_up(&self, bytes: u64) -> bool {
        let Some(reserve) = self.reserve.get() else { return false };
        let _turn = self.turn.lock().expect("no thread panics while it holds this lock");
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
        let _turn = self.turn.lock().expect("no thread panics while it holds this lock");
        // The reserve is larger if a vault with larger blocks was here before.
        if reserve.held() != sizes.whole {
            // The next check tries again.
            let _ = reserve.hold(sizes.whole);
        }
        self.held.store(reserve.held(), Ordering::Relaxed);
    }

    fn on_full(&self) {
        if !self.is_full.swap(true, Ordering::Relaxed) {
            self.full_notify.notify_one();
            let figures = self.figures();
            tracing::warn!(
                reserve = figures.held,
                reads = figures.reads(),
                "the trusted folder's disk is full: writes are refused, and at least this many reads are answered \
                 from its reserve; free some space"
            );
        }
    }
}

/// A file of zeros, whose bytes the disk has allocated.
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
        // On some file systems, freed bytes can be used only when this is durable.
        self.0.sync_all()
    }
}

/// Allocates bytes at the end of a file.
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
