//! A trusted disk in memory that can lose power, fill up, and lie about syncs.
//!
//! It stands in for the disk under the vault. Written bytes are in a cache until they are synced. A power loss keeps any
//! part of the cache, sector by sector, in any order.

pub use super::disk_file::Change;
use super::disk_file::{FileState, apply};
use super::effect_log::{Effect, EffectLog};
use super::rng::TestRng;
use ameles_vault::{Reserve, TrustedDisk, VaultError};
use futures::FutureExt;
use redb::{Database, DatabaseError, StorageBackend};
use std::io::{Error, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The bytes that are allocated at once.
const PAGE: usize = 4096;

/// A disk. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FragileDisk(Arc<Mutex<DiskState>>);

/// The files of a disk: the database, the slots of the stash, and the journal.
pub const DATABASE: usize = 0;
const SLOTS: usize = 1;
pub const JOURNAL: usize = 2;
const FILES: usize = 3;

#[derive(Debug, Default)]
struct DiskState {
    files: [FileState; FILES],
    /// The number of mounts; handles of earlier mounts no longer work.
    mounts: u64,
    mounted: bool,
    /// The number of changes until the power fails, in the middle of the last one.
    power_left: Option<u64>,
    /// The number of changes until all further ones are refused, and the error they get.
    refuses: Option<(u64, ErrorKind)>,
    /// The pages on the disk, if limited, and those of the reserve.
    room: Option<usize>,
    /// The change after which no further page is available.
    room_ends_at: Option<u64>,
    reserve: usize,
    drops_syncs: bool,
    changes: u64,
    effect_log: Option<EffectLog>,
    /// The time that a sync takes, and the additional time for each byte, in tokio's time.
    sync_takes: Option<(Duration, Duration)>,
    /// The offsets of the stash slots read so far.
    slot_reads: Vec<u64>,
    /// The time that each of these reads takes, in tokio's time.
    read_takes: Option<Duration>,
}

/// The way in which the process on a disk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The process is killed: the cache survives.
    Kill,
    /// The power fails: any part of the unsynced bytes may survive.
    PowerLoss,
}

impl FragileDisk {
    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.0.lock().expect("no holder of the disk panicked")
    }

    /// Opens the database on the disk.
    pub fn mount(&self) -> Result<TrustedDisk, VaultError> {
        let mount = self.begin_mount();
        let [database, slots, journal] = self.backends(mount);
        TrustedDisk::with_backends(database, slots, journal)
    }

    /// Opens the database. Its work begins only after the caller has yielded some times.
    pub fn mount_yielding(&self) -> Result<TrustedDisk, VaultError> {
        self.mount().map(TrustedDisk::yielding)
    }

    /// Opens the database with a reserve for a full disk.
    pub fn mount_with_reserve(&self) -> Result<TrustedDisk, VaultError> {
        let mount = self.begin_mount();
        let [database, slots, journal] = self.backends(mount);
        TrustedDisk::with_backends_and_reserve(database, slots, journal, DiskReserve(self.clone()))
    }

    /// Limits the free space to this many bytes from now on; `None` removes the limit.
    pub fn leave_room(&self, bytes: Option<usize>) {
        let mut state = self.state();
        state.room = bytes.map(|bytes| state.used() + bytes / PAGE);
    }

    /// Lets the disk be full after this many more changes.
    pub fn end_room_after(&self, changes: u64) {
        let mut state = self.state();
        state.room_ends_at = Some(state.changes + changes);
    }

    /// Shrinks the reserve to this many bytes, as if another program had taken the rest.
    pub fn shrink_reserve(&self, bytes: usize) {
        let mut state = self.state();
        let taken = state.reserve.saturating_sub(bytes / PAGE);
        state.reserve -= taken;
        if let Some(room) = &mut state.room {
            *room -= taken;
        }
    }

    /// The database itself, for a test that corrupts it; otherwise like [`mount`](Self::mount).
    pub fn database(&self) -> Result<Database, DatabaseError> {
        let mount = self.begin_mount();
        let [database, ..] = self.backends(mount);
        Database::builder().create_with_backend(database)
    }

    fn begin_mount(&self) -> u64 {
        let mut state = self.state();
        state.mounts += 1;
        state.mounted = true;
        state.mounts
    }

    fn backends(&self, mount: u64) -> [Mount; FILES] {
        [DATABASE, SLOTS, JOURNAL].map(|file| Mount { disk: self.clone(), mount, file })
    }

    /// Unplugs the disk: nothing that the mounted database does has any effect from now on.
    pub fn unplug(&self) {
        self.state().mounted = false;
    }

    /// Applies the crash, after [`unplug`](Self::unplug).
    pub fn crash(&self, how: Crash, rng: &mut TestRng) {
        let mut state = self.state();
        assert!(!state.mounted, "a crash ends the mount first");
        state.power_left = None;
        if how == Crash::Kill {
            return;
        }
        state.files.iter_mut().for_each(|file| file.lose_power(rng));
    }

    /// A copy of the current bytes, synced or not: a disk image that can be restored later.
    pub fn image(&self) -> FragileDisk {
        let state = self.state();
        let copied = |file: usize| {
            let bytes = state.files[file].cached.clone();
            FileState { durable: bytes.clone(), cached: bytes, ..FileState::default() }
        };
        let files = [DATABASE, SLOTS, JOURNAL].map(copied);
        FragileDisk(Arc::new(Mutex::new(DiskState { files, ..DiskState::default() })))
    }

    /// Makes the power fail in the middle of the change after `changes` more of them.
    pub fn fail_after(&self, changes: Option<u64>) {
        self.state().power_left = changes;
    }

    /// Returns whether the power has failed.
    pub fn has_failed(&self) -> bool {
        self.state().power_left == Some(0)
    }

    /// Makes the disk full after `changes` more changes; `None` frees space.
    pub fn fill_after(&self, changes: Option<u64>) {
        self.refuse_after(changes, ErrorKind::StorageFull);
    }

    /// Makes every change fail with this error after `changes` more of them; `None` ends that.
    pub fn refuse_after(&self, changes: Option<u64>, how: ErrorKind) {
        self.state().refuses = changes.map(|changes| (changes, how));
    }

    /// Logs every change and every sync from now on.
    pub fn record(&self, effect_log: &EffectLog) {
        self.state().effect_log = Some(effect_log.clone());
    }

    /// Applies a logged change; `None` is a sync.
    pub fn replay(&self, file: usize, change: Option<&Change>) {
        let file = &mut self.state().files[file];
        match change {
            Some(change) => {
                apply(&mut file.cached, change);
                file.unsynced.push(change.clone());
            }
            None => file.sync(),
        }
    }

    /// An independent copy, with what is synced and what is not.
    pub fn fork(&self) -> FragileDisk {
        let files = self.state().files.clone();
        FragileDisk(Arc::new(Mutex::new(DiskState { files, ..DiskState::default() })))
    }

    /// Returns whether a power loss now would lose nothing.
    pub fn is_synced(&self) -> bool {
        self.state().files.iter().all(|file| file.unsynced.is_empty())
    }

    /// Acknowledges syncs from now on without carrying them out.
    pub fn drop_syncs(&self) {
        self.state().drops_syncs = true;
    }

    /// Makes each sync take this long from now on, with additional time for each byte. No other task runs meanwhile.
    /// For tokio's paused time only.
    pub fn take_time(&self, sync: Duration, byte: Duration) {
        self.state().sync_takes = Some((sync, byte));
    }

    /// Makes each read of a stash slot take this long from now on. No other task runs meanwhile. For tokio's paused
    /// time only.
    pub fn read_slowly(&self, read: Duration) {
        self.state().read_takes = Some(read);
    }

    /// Returns the offsets of the reads of the slot file since the last call.
    pub fn take_slot_reads(&self) -> Vec<u64> {
        std::mem::take(&mut self.state().slot_reads)
    }

    /// The length of the stash's slot file, in bytes.
    pub fn slot_file_len(&self) -> usize {
        self.state().files[SLOTS].cached.len()
    }

    /// The bytes of the slot file.
    pub fn slot_file(&self) -> Vec<u8> {
        self.state().files[SLOTS].cached.clone()
    }

    /// Corrupts a byte of the slot file permanently.
    pub fn flip_in_slot_file(&self, at: usize) {
        self.flip(SLOTS, at);
    }

    /// Corrupts a byte of a file permanently. Corrupts it in the durable bytes too, if they are that long.
    pub fn flip(&self, file: usize, at: usize) {
        let file = &mut self.state().files[file];
        for bytes in [&mut file.cached, &mut file.durable] {
            bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1);
        }
    }

    /// The number of the last whole group in the journal.
    pub fn last_group_of_journal(&self) -> Option<u64> {
        self.state().files[JOURNAL].last_group()
    }

    /// Removes a group from the journal permanently, and those after it.
    pub fn remove_groups_of_journal(&self, first: u64) {
        self.state().files[JOURNAL].remove_groups(first);
    }

    /// The number of changes so far.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }
}

/// The reserve of a disk.
#[derive(Debug)]
struct DiskReserve(FragileDisk);

impl Reserve for DiskReserve {
    fn held(&self) -> u64 {
        (self.0.state().reserve * PAGE) as u64
    }

    fn hold(&self, bytes: u64) -> Result<(), Error> {
        let mut state = self.0.state();
        let (pages, others) = (bytes as usize / PAGE, state.used() - state.reserve);
        if pages > state.reserve && state.room.is_some_and(|room| others + pages > room) {
            return Err(ErrorKind::StorageFull.into());
        }
        state.reserve = pages;
        Ok(())
    }
}

/// The disk as redb sees it.
#[derive(Debug)]
struct Mount {
    disk: FragileDisk,
    mount: u64,
    file: usize,
}

impl Mount {
    fn state(&self) -> Result<MutexGuard<'_, DiskState>, Error> {
        let state = self.disk.state();
        if !state.mounted || state.mounts != self.mount || state.power_left == Some(0) {
            return Err(Error::other("the power has failed"));
        }
        Ok(state)
    }

    fn change(&self, change: Change) -> Result<(), Error> {
        let mut state = self.state()?;
        state.changes += 1;
        if let Some((left, how)) = &mut state.refuses {
            if *left == 0 {
                return Err((*how).into());
            }
            *left -= 1;
        }
        state.take_room(self.file, &change)?;
        let file = &mut state.files[self.file];
        apply(&mut file.cached, &change);
        file.unsynced.push(change.clone());
        if let Some(effect_log) = &state.effect_log {
            effect_log.push(Effect::Change(self.file, change));
        }
        state.count_change()
    }
}

impl DiskState {
    /// The number of pages in use.
    fn used(&self) -> usize {
        self.files.iter().map(|file| file.pages.len()).sum::<usize>() + self.reserve
    }

    /// Allocates the pages of a change, if there are enough.
    fn take_room(&mut self, file: usize, change: &Change) -> Result<(), Error> {
        if self.room_ends_at.take_if(|at| *at <= self.changes).is_some() {
            self.room = Some(self.used());
        }
        match change {
            Change::Write(at, data) => {
                let touched = at / PAGE..(at + data.len()).div_ceil(PAGE);
                let new = touched.clone().filter(|page| !self.files[file].pages.contains(page)).count();
                if self.room.is_some_and(|room| self.used() + new > room) {
                    return Err(ErrorKind::StorageFull.into());
                }
                self.files[file].pages.extend(touched);
            }
            Change::Resize(len) => self.files[file].pages.retain(|page| *page < len.div_ceil(PAGE)),
        }
        Ok(())
    }

    /// Counts a change; the power fails in the last one.
    fn count_change(&mut self) -> Result<(), Error> {
        match &mut self.power_left {
            Some(left) => {
                *left -= 1;
                if *left == 0 { Err(Error::other("the power has failed")) } else { Ok(()) }
            }
            None => Ok(()),
        }
    }
}

impl StorageBackend for Mount {
    fn len(&self) -> Result<u64, Error> {
        Ok(self.state()?.files[self.file].cached.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let mut state = self.state()?;
        if self.file == SLOTS {
            state.slot_reads.push(offset);
            if let Some(takes) = state.read_takes {
                let _ = tokio::time::advance(takes).now_or_never();
            }
        }
        let at = offset as usize;
        let bytes = state.files[self.file].cached.get(at..at + out.len());
        out.copy_from_slice(bytes.ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.change(Change::Resize(len as usize))
    }

    fn sync_data(&self) -> Result<(), Error> {
        let mut state = self.state()?;
        state.changes += 1;
        // A power failure during a sync comes before it or after it.
        let before = state.power_left == Some(1) && state.changes.is_multiple_of(2);
        let bytes: usize = state.files[self.file].unsynced.iter().map(Change::bytes).sum();
        if let Some((sync, byte)) = state.sync_takes {
            // The first poll sets the clock; the later ones would only yield.
            let _ = tokio::time::advance(sync + byte * bytes as u32).now_or_never();
        }
        if !before && !state.drops_syncs {
            state.files[self.file].sync();
        }
        if let Some(effect_log) = &state.effect_log {
            effect_log.push(Effect::Sync(self.file));
        }
        state.count_change()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.change(Change::Write(offset as usize, data.to_vec()))
    }
}
