//! Writing groups to the journal's file, and the places of its segments.

use super::scan::{Scan, Walk, scan};
use super::sector::{GroupWriter, SECTOR};
use super::segments::{SEGMENT, Segments, segment_of};
use super::{JournalMark, NumberedRecord, WaitingChanges, damaged, take_records};
use crate::error::VaultError;
use crate::trusted::commit_group::Change;
use crate::trusted::companion_file;
use crate::trusted::disk_reserve::DiskReserve;
use crate::trusted::failure::{failure, is_full};
use redb::StorageBackend;
use redb::backends::FileBackend;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The number of segments of a new file.
const FIRST_SEGMENTS: u32 = 4;
/// The maximum number of bytes that are written at once when the file grows.
const ZEROS: u64 = 1 << 20;

/// The changes of rows after which a transaction of the database makes them, though there is no checkpoint.
#[derive(Clone, Copy, Debug)]
pub(in crate::trusted) struct JournalLimits {
    /// The maximum number of bytes of changes in memory. A larger change is not written to the journal.
    pub(in crate::trusted) in_memory: u64,
    /// The maximum number of bytes of groups without records.
    pub(in crate::trusted) in_file: u64,
}

impl JournalLimits {
    const USUAL: JournalLimits = JournalLimits { in_memory: 4 << 20, in_file: 64 << 20 };
}

/// The fate of the records in the journal when the database makes its other changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trusted) enum RecordsThen {
    /// The records stay in the journal.
    Stay,
    /// The records move to the database.
    Move,
    /// The records are dropped: a checkpoint holds their effects.
    Drop,
}

/// The changes for a transaction of the database.
#[derive(Debug)]
pub(in crate::trusted) struct ChangesForDatabase {
    /// Changes with the numbers of their groups. They may contain some that the database holds.
    pub(in crate::trusted) changes: WaitingChanges,
    /// The last group that the database holds already.
    pub(in crate::trusted) applied: u64,
    /// Records that move to the database.
    pub(in crate::trusted) records: Vec<NumberedRecord>,
    /// The mark after the transaction.
    pub(in crate::trusted) mark: JournalMark,
}

/// The journal's file, and the changes that only it holds.
#[derive(Debug)]
pub(in crate::trusted) struct JournalFile {
    /// The folder of the database; `None` for a backend that was given.
    folder: Option<PathBuf>,
    state: Mutex<State>,
    /// Locked after `state`.
    waiting: Mutex<WaitingChanges>,
    reserve: Arc<DiskReserve>,
    limits: JournalLimits,
    /// True if a limit is exceeded. It is known without a wait for the group that is being written.
    is_overfull: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// The file: given, or opened by the name in the mark.
    file: Option<Box<dyn StorageBackend>>,
    end: Option<End>,
    /// The first failure. The bytes of the file are unknown after it, so it is the answer to everything.
    failed: Option<VaultError>,
}

/// The end of the journal, where the next group is written.
#[derive(Debug)]
struct End {
    mark: JournalMark,
    last: u64,
    at: u64,
    next: u64,
    segments: Segments,
    /// The last group with records.
    last_with_records: u64,
    /// The number of bytes of groups without records since the mark.
    bytes_without_records: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds this lock")
}

impl JournalFile {
    /// A journal in the folder of this database. Its file is created when it is first needed.
    pub(in crate::trusted) fn next_to(database: &Path, reserve: Arc<DiskReserve>) -> Self {
        Self::new(Some(companion_file::folder_of(database)), None, reserve)
    }

    /// A journal in a backend that the caller provides.
    pub(in crate::trusted) fn with_backend(file: impl StorageBackend, reserve: Arc<DiskReserve>) -> Self {
        Self::new(None, Some(Box::new(file)), reserve)
    }

    fn new(
        folder: Option<PathBuf>,
        file: Option<Box<dyn StorageBackend>>,
        reserve: Arc<DiskReserve>,
    ) -> Self {
        let state = Mutex::new(State { file, ..State::default() });
        let (waiting, is_overfull) = (Mutex::default(), AtomicBool::new(false));
        JournalFile { folder, state, waiting, reserve, limits: JournalLimits::USUAL, is_overfull }
    }

    #[cfg(test)]
    pub(in crate::trusted) fn with_limits(self, limits: JournalLimits) -> Self {
        JournalFile { limits, ..self }
    }

    /// Returns whether the file is open.
    pub(in crate::trusted) fn is_open(&self) -> bool {
        lock(&self.state).end.is_some()
    }

    /// Returns whether a change is so large that the database must make it at once.
    pub(in crate::trusted) fn is_too_large(&self, change: &Change) -> bool {
        !change.has_records() && change.bytes() > self.limits.in_memory
    }

    /// Creates the file, without groups; durable when this returns. The file counts when the database has its mark.
    pub(in crate::trusted) fn create(&self) -> io::Result<JournalMark> {
        let mut state = lock(&self.state);
        let mut mark = JournalMark::default();
        if let Some(folder) = &self.folder {
            let (name, file) = companion_file::create(folder, "journal", &self.reserve)?;
            mark.file = name;
            state.file = Some(Box::new(FileBackend::new(file).map_err(io::Error::other)?));
        }
        let file = state.file.as_deref().expect("the file is given, or was just made");
        self.with_reserve(FIRST_SEGMENTS.into(), || write_zeros(file, 0, FIRST_SEGMENTS))?;
        file.sync_data()?;
        Ok(mark)
    }

    /// Opens the file that belongs to this mark, and reads what it holds.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(in crate::trusted) fn open(&self, mark: JournalMark) -> Result<(), VaultError> {
        let mut state = lock(&self.state);
        if let (Some(folder), None) = (&self.folder, &state.file) {
            let file = companion_file::open(folder, &mark.file).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    VaultError::Damaged(format!("{}, which belongs to it, is missing", mark.file).into())
                }
                _ => failure(redb::Error::Io(error)),
            })?;
            state.file = Some(Box::new(FileBackend::new(file).map_err(failure)?));
        }
        let file = state.file.as_deref().expect("the file is given, or was just opened");
        // A group that a killed process has written may still be in the cache only. From now on it counts.
        file.sync_data().map_err(|error| failure(redb::Error::Io(error)))?;
        let (mut waiting, mut last_with_records, mut without_records) = (WaitingChanges::default(), 0, 0);
        let Scan { last, end, next, segments } = scan(file, &mark, &mut |(group, changes)| {
            let (records, others) = take_records(changes);
            match records.is_empty() {
                true => without_records += others.iter().map(Change::bytes).sum::<u64>(),
                false => last_with_records = group,
            }
            if group > mark.applied {
                waiting.push(group, others);
            }
        })?;
        state.end = Some(End {
            mark,
            last,
            at: end,
            next,
            segments,
            last_with_records,
            bytes_without_records: without_records,
        });
        *lock(&self.waiting) = waiting;
        Ok(())
    }

    /// Appends a group of changes; they are durable when this returns.
    ///
    /// # Errors
    /// The errors of the disk. After an error, every call fails.
    pub(in crate::trusted) fn append(&self, changes: Vec<Change>) -> Result<(), VaultError> {
        let mut state = lock(&self.state);
        if let Some(failed) = &state.failed {
            return Err(failed.clone());
        }
        if let Err(error) = self.write_group(&mut state, &changes) {
            let why = failure(redb::Error::Io(error));
            state.failed = Some(why.clone());
            return Err(why);
        }
        let Some(end) = &mut state.end else { return Ok(()) };
        let (records, others) = take_records(changes);
        match records.is_empty() {
            true => end.bytes_without_records += others.iter().map(Change::bytes).sum::<u64>(),
            false => end.last_with_records = end.last,
        }
        let mut waiting = lock(&self.waiting);
        waiting.push(end.last, others);
        self.is_overfull.store(self.exceeded(end, &waiting).is_some(), Ordering::Relaxed);
        Ok(())
    }

    fn write_group(&self, state: &mut State, changes: &[Change]) -> io::Result<()> {
        let State { file: Some(file), end: Some(end), .. } = state else {
            return Err(io::Error::other("the journal is not open"));
        };
        let mut writer = GroupWriter::default();
        borsh::to_writer(&mut writer, changes)?;
        let sectors = writer.finish(end.next, end.last, end.at);
        let count = (sectors.len() / SECTOR) as u64;
        let last_segment = segment_of(end.at + count - 1);
        let missing = end.segments.missing(last_segment);
        if missing > 0 {
            let added = self.grow(&**file, end.segments.places(), missing)?;
            end.segments.add(added);
        }
        end.segments.take(last_segment);
        let mut rest = &sectors[..];
        for (offset, count) in end.segments.runs(end.at, count) {
            let (some, after) = rest.split_at(count as usize * SECTOR);
            self.reserve.retry_with_reserve(some.len() as u64, || file.write(offset, some))?;
            rest = after;
        }
        file.sync_data()?;
        (end.last, end.next, end.at) = (end.next, end.next + 1, end.at + count);
        Ok(())
    }

    /// Adds places to a file with this many; durable when this returns. Returns their number. It is a share of the
    /// file, so that a growing journal is rarely extended, or only what is missing if the disk is full.
    fn grow(&self, file: &dyn StorageBackend, places: u32, missing: u32) -> io::Result<u32> {
        let share = places / 4;
        let from = u64::from(places) * SEGMENT;
        let mut added = missing;
        if share > missing && !self.reserve.refuses_writes() {
            match write_zeros(file, from, share) {
                Ok(()) => added = share,
                // What was allocated is free again.
                Err(error) if is_full(&error) => file.set_len(from)?,
                Err(error) => return Err(error),
            }
        }
        if added == missing {
            self.with_reserve(missing.into(), || write_zeros(file, from, missing))?;
        }
        file.sync_data()?;
        Ok(added)
    }

    fn with_reserve(&self, segments: u64, work: impl Fn() -> io::Result<()>) -> io::Result<()> {
        self.reserve.retry_with_reserve(segments * SEGMENT, work)
    }

    /// The records after the mark, in order.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(in crate::trusted) fn records(&self) -> Result<Vec<NumberedRecord>, VaultError> {
        read_records(&lock(&self.state))
    }

    /// The changes that only the journal holds.
    pub(in crate::trusted) fn waiting(&self) -> WaitingChanges {
        lock(&self.waiting).clone()
    }

    /// Returns what a transaction must do so that the journal does not grow without a checkpoint, if anything.
    pub(in crate::trusted) fn overflow(&self) -> Option<RecordsThen> {
        // One caller does it.
        if !self.is_overfull.swap(false, Ordering::Relaxed) {
            return None;
        }
        let state = lock(&self.state);
        self.exceeded(state.end.as_ref()?, &lock(&self.waiting))
    }

    fn exceeded(&self, end: &End, waiting: &WaitingChanges) -> Option<RecordsThen> {
        let is_long =
            end.bytes_without_records > self.limits.in_file && end.last_with_records > end.mark.group;
        match (is_long, waiting.bytes() > self.limits.in_memory) {
            (true, _) => Some(RecordsThen::Move),
            (false, true) => Some(RecordsThen::Stay),
            (false, false) => None,
        }
    }

    /// The changes for a transaction, if the journal is open.
    ///
    /// # Errors
    /// The errors of [`records`](Self::records).
    pub(in crate::trusted) fn for_database(
        &self,
        then: RecordsThen,
    ) -> Result<Option<ChangesForDatabase>, VaultError> {
        let state = lock(&self.state);
        let Some(end) = &state.end else { return Ok(None) };
        let mut mark = JournalMark { applied: end.last, ..end.mark.clone() };
        if then != RecordsThen::Stay || end.last_with_records <= end.mark.group {
            (mark.group, mark.at) = (end.last, end.at);
        }
        let records = if then == RecordsThen::Move { read_records(&state)? } else { Vec::new() };
        Ok(Some(ChangesForDatabase { changes: self.waiting(), applied: end.mark.applied, records, mark }))
    }

    /// Records that a transaction with these changes is durable, and frees the segments that are not needed any more.
    pub(in crate::trusted) fn on_committed(&self, changes: ChangesForDatabase) {
        let mut state = lock(&self.state);
        let Some(end) = &mut state.end else { return };
        lock(&self.waiting).drop_up_to(changes.mark.applied);
        if end.mark.group != changes.mark.group {
            end.bytes_without_records = 0;
        }
        end.mark = changes.mark;
        // The last sector before the mark stays: an opening knows by it that the file belongs to the database.
        end.segments.free_before(segment_of(end.mark.at.saturating_sub(1)));
    }
}

fn read_records(state: &State) -> Result<Vec<NumberedRecord>, VaultError> {
    let State { file: Some(file), end: Some(end), .. } = state else { return Ok(Vec::new()) };
    let mut walk = Walk { file: &**file, locate: |segment| end.segments.place(segment), cached: None };
    let mut records = Vec::new();
    let (last, _) = walk.run(&end.mark, &mut |(_, changes)| records.extend(take_records(changes).0))?;
    if last != end.last {
        return Err(damaged(&format!("group {} is missing or damaged", last + 1)));
    }
    Ok(records)
}

/// Writes zeros to segments from this offset on.
fn write_zeros(file: &dyn StorageBackend, from: u64, segments: u32) -> io::Result<()> {
    let end = from + u64::from(segments) * SEGMENT;
    if file.len()? < end {
        file.set_len(end)?;
    }
    let zeros = vec![0; ZEROS.min(end - from) as usize];
    let mut at = from;
    while at < end {
        let some = (end - at).min(ZEROS);
        file.write(at, &zeros[..some as usize])?;
        at += some;
    }
    Ok(())
}
