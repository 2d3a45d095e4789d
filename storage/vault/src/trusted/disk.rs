//! The trusted disk: an embedded database (redb) in the trusted folder, and a [journal](super::journal) of the changes
//! that the database does not hold yet. Each change is durable, alone or in a [group](super::commit_group).
//!
//! | table | contents |
//! |---|---|
//! | `meta` | the vault's header, the claim of an epoch, the mark of the journal |
//! | `long-notes` | what the store has of the shipped checkpoint |
//! | `words`, `deltas`, `garbage`, `summary` | the trusted state, sealed by the [checkpoint writer](super::checkpoint_writer) |
//! | `journal` | records since, sealed, by sequence number, in chunks, if they were moved out of the journal's file |
//! | `rows` | the gateway's rows, sealed, by a keyed hash of their key |
//! | `changed-rows` | the hashes of the [rows that the store lacks](super::changed_rows) |
//! | `unlogged` | changes of rows that the journal in the store may not hold yet, [sealed](super::unlogged_table) |
//!
//! Records of the session and changes of rows go to the journal. A checkpoint drops the records, and makes the changes
//! of rows in its own transaction. So does every other transaction, which leaves the records where they are.
//!
//! The [file](super::slot_file) of the stash's slots lies next to the database, and so does that of the journal.

use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::trusted::changed_rows;
use crate::trusted::checked_database;
use crate::trusted::chunks;
use crate::trusted::commit_group::{Change, CommitGroup, QueuedChange};
use crate::trusted::database_changes::{self, JOURNAL, META, ROWS};
use crate::trusted::disk_reserve::{DiskReserve, Reserve};
use crate::trusted::disk_snapshot::DiskSnapshot;
use crate::trusted::failure::{FirstFailure, failure};
use crate::trusted::folder_sync::{make_durable, sync_folder};
use crate::trusted::journal::{JournalFile, RecordsThen};
use crate::trusted::long_notes;
use crate::trusted::row::RowChange;
use crate::trusted::slot_file::SlotFile;
use crate::trusted::state_tables::StateTable;
use ameles_core::types::Bytes;
use redb::backends::FileBackend;
use redb::{Database, ReadTransaction, ReadableDatabase, StorageBackend, TableHandle, WriteTransaction};
use std::fs::OpenOptions;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// The number of times that other tasks run before work starts that has no thread of its own.
const TURNS: u32 = 3;

/// The number of bytes of the database's cache.
pub const DATABASE_CACHE: u64 = 64 << 20;

/// The trusted disk. Clones share it.
#[derive(Clone)]
pub struct TrustedDisk {
    database: Arc<Database>,
    pub(super) slot_file: Arc<SlotFile>,
    journal: Arc<JournalFile>,
    group: Arc<CommitGroup>,
    /// The lock of the caller that changes the database.
    pub(super) writes: Arc<Mutex<()>>,
    /// The mark under which rows are noted that change now. Changed under that lock.
    pub(super) row_mark: Arc<AtomicU64>,
    first_failure: FirstFailure,
    reserve: Arc<DiskReserve>,
    /// True if long work runs on another thread. Backends that the caller provides may not leave this thread.
    has_own_thread: bool,
    /// True if other tasks run before such work starts.
    yields_first: bool,
}

impl TrustedDisk {
    /// Opens or creates the database file.
    ///
    /// # Errors
    /// [`VaultError::Locked`] if another process has it open, [`VaultError::Disk`], [`VaultError::DiskFull`].
    pub fn open(file: &Path) -> Result<Self, VaultError> {
        Self::open_in(file, sync_folder)
    }

    /// Opens or creates the database file in a folder that this function syncs.
    fn open_in(file: &Path, sync: impl Fn(&Path) -> io::Result<()>) -> Result<Self, VaultError> {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(file);
        let backend = opened.map_err(redb::Error::Io).and_then(|file| Ok(FileBackend::new(file)?));
        let reserve = Arc::new(DiskReserve::next_to(file));
        let database = checked_database::open(backend.map_err(failure)?, DATABASE_CACHE as usize, &reserve)?;
        // The name itself must survive power loss. This is done at every opening: an earlier one may have created the
        // file or the folder, and been cut off just then.
        make_durable(file, sync).map_err(|error| failure(redb::Error::Io(error)))?;
        let journal = JournalFile::next_to(file, Arc::clone(&reserve));
        Self::new(database, (SlotFile::next_to(file, Arc::clone(&reserve)), journal, reserve), true)
    }

    /// A disk over backends that the caller provides, for simulations: for the database, for the stash's slots, and for
    /// the journal.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn with_backends(
        backend: impl StorageBackend,
        slot_file: impl StorageBackend,
        journal: impl StorageBackend,
    ) -> Result<Self, VaultError> {
        Self::from_backends(backend, slot_file, journal, DiskReserve::default())
    }

    /// Does the same as `with_backends`, with a reserve for a full disk.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn with_backends_and_reserve(
        backend: impl StorageBackend,
        slot_file: impl StorageBackend,
        journal: impl StorageBackend,
        reserve: impl Reserve,
    ) -> Result<Self, VaultError> {
        let disk_reserve = DiskReserve::default();
        disk_reserve.set_reserve(reserve);
        Self::from_backends(backend, slot_file, journal, disk_reserve)
    }

    /// This disk, but other tasks run before its work starts. So a test sees whether a caller is answered before its
    /// change is durable.
    pub fn yielding(self) -> Self {
        TrustedDisk { yields_first: true, ..self }
    }

    fn from_backends(
        backend: impl StorageBackend,
        slot_file: impl StorageBackend,
        journal: impl StorageBackend,
        reserve: DiskReserve,
    ) -> Result<Self, VaultError> {
        let reserve = Arc::new(reserve);
        let database = checked_database::open(backend, DATABASE_CACHE as usize, &reserve)?;
        let journal = JournalFile::with_backend(journal, Arc::clone(&reserve));
        Self::new(
            database,
            (SlotFile::with_backend(slot_file, Arc::clone(&reserve)), journal, reserve),
            false,
        )
    }

    /// A disk over backends that the caller provides and that any thread may use: long work runs on another thread.
    /// `cache` is the memory for the database.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn with_shared_backends(
        backend: impl StorageBackend,
        slot_file: impl StorageBackend,
        journal: impl StorageBackend,
        cache: Bytes,
    ) -> Result<Self, VaultError> {
        let bytes = usize::try_from(cache.0).unwrap_or(usize::MAX);
        let reserve = Arc::<DiskReserve>::default();
        let database = checked_database::open(backend, bytes, &reserve)?;
        let journal = JournalFile::with_backend(journal, Arc::clone(&reserve));
        Self::new(database, (SlotFile::with_backend(slot_file, Arc::clone(&reserve)), journal, reserve), true)
    }

    fn new(
        (database, first_failure): (Database, FirstFailure),
        (slot_file, journal, reserve): (SlotFile, JournalFile, Arc<DiskReserve>),
        has_own_thread: bool,
    ) -> Result<Self, VaultError> {
        let (database, slot_file) = (Arc::new(database), Arc::new(slot_file));
        let disk = TrustedDisk {
            database,
            slot_file,
            journal: Arc::new(journal),
            group: Arc::default(),
            writes: Arc::default(),
            row_mark: Arc::default(),
            first_failure,
            reserve,
            has_own_thread,
            yields_first: false,
        };
        disk.check_tables()?;
        disk.open_journal()?;
        // A table is created when it is first opened for writing.
        disk.with_write(|transaction| {
            transaction.open_table(META)?;
            transaction.open_table(JOURNAL)?;
            transaction.open_table(ROWS)?;
            changed_rows::create(transaction)?;
            long_notes::create(transaction)?;
            for part in StateTable::ALL {
                transaction.open_table(part.table())?;
            }
            Ok(())
        })?;
        Ok(disk)
    }

    /// Checks that a database with tables has all tables that every opening creates. Otherwise a missing table would
    /// pass for an empty one.
    fn check_tables(&self) -> Result<(), VaultError> {
        let mut names = Vec::new();
        self.with_read(|transaction| {
            names = transaction.list_tables()?.map(|table| table.name().to_owned()).collect();
            Ok(())
        })?;
        let missing = [META.name(), JOURNAL.name(), ROWS.name()]
            .into_iter()
            .find(|table| !names.is_empty() && !names.iter().any(|name| name == table));
        match missing {
            Some(table) => Err(VaultError::Damaged(format!("its table `{table}` is missing").into())),
            None => Ok(()),
        }
    }

    /// Runs long work without blocking other tasks.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TrustedDisk) -> Result<T, VaultError> + Send + 'static,
    ) -> Result<T, VaultError> {
        if !self.has_own_thread {
            if self.yields_first {
                yield_turns().await;
            }
            return work(self);
        }
        let disk = self.clone();
        let working = tokio::task::spawn_blocking(move || work(&disk)).await;
        working.unwrap_or_else(|error| Err(VaultError::Disk(ErrorReason::of(error))))
    }

    /// Runs a read transaction.
    pub(super) fn with_read<T>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, VaultError> {
        let result = self.database.begin_read().map_err(redb::Error::from).and_then(|at| work(&at));
        result.map_err(|error| self.explain(error))
    }

    /// Runs a write transaction. Its changes are made all or none, and are durable when this returns. They come after
    /// all changes that are durable in the journal.
    pub(super) fn with_write(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), VaultError> {
        self.write(RecordsThen::Stay, work)
    }

    /// Does the same as `with_write`, and decides about the records of the journal.
    pub(super) fn write(
        &self,
        then: RecordsThen,
        work: impl FnOnce(&WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), VaultError> {
        let _turn = self.writes.lock().expect("no thread panics while it holds this lock");
        let waiting = self.journal.for_database(then)?;
        let result = checked_database::begin_write(&self.database).and_then(|transaction| {
            let row_mark = self.row_mark.load(Ordering::Relaxed);
            let take_over = |waiting| database_changes::take_over(&transaction, waiting, row_mark);
            waiting.iter().try_for_each(take_over)?;
            work(&transaction)?;
            Ok(transaction.commit()?)
        });
        result.map_err(|error| self.explain(error))?;
        // Only now may the journal forget them.
        waiting.into_iter().for_each(|waiting| self.journal.on_committed(waiting));
        Ok(())
    }

    pub(super) fn explain(&self, error: redb::Error) -> VaultError {
        self.first_failure.explain(error)
    }

    /// The reserve for when the disk is full.
    pub(crate) fn reserve(&self) -> &DiskReserve {
        &self.reserve
    }

    pub(crate) fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, VaultError> {
        self.snapshot()?.meta(name)
    }

    pub(crate) fn set_meta(&self, name: &str, value: &[u8]) -> Result<(), VaultError> {
        self.set_metas(&[(name, value)])
    }

    /// Sets several values, all or none.
    pub(crate) fn set_metas<V: AsRef<[u8]>>(&self, values: &[(&str, V)]) -> Result<(), VaultError> {
        self.with_write(|transaction| database_changes::set_metas(transaction, values))
    }

    /// Adds records to the queue.
    pub(crate) fn enqueue_records(&self, records: Vec<(u64, Vec<u8>)>) -> QueuedChange {
        self.enqueue(Change::Records(records))
    }

    /// Appends records; they are durable when this returns.
    #[cfg(test)]
    pub(crate) fn append(&self, records: Vec<(u64, Vec<u8>)>) -> Result<(), VaultError> {
        self.commit(self.enqueue_records(records))
    }

    /// The records since the last checkpoint, in order.
    pub(crate) fn journal(&self) -> Result<Vec<(u64, Vec<u8>)>, VaultError> {
        let mut records =
            self.with_read(|transaction| chunks::read_values(&transaction.open_table(JOURNAL)?))?;
        records.extend(self.journal.records()?);
        Ok(records)
    }

    /// Adds sealed changes of rows, by the hashes of their keys, to the queue. They come after all earlier ones.
    pub(crate) fn enqueue_rows(&self, changes: Vec<RowChange>) -> QueuedChange {
        self.enqueue(Change::Rows(changes))
    }

    pub(super) fn enqueue(&self, change: Change) -> QueuedChange {
        self.group.enqueue(change)
    }

    /// Makes a queued change durable, together with those that wait.
    pub(crate) fn commit(&self, queued: QueuedChange) -> Result<(), VaultError> {
        self.group.commit(queued, |changes| self.make_durable(changes))
    }

    /// Lets the database take over changes of rows, if the journal holds too many. Called by those who change rows: a
    /// batch must not wait for it.
    pub(crate) fn bound_journal(&self) -> Result<(), VaultError> {
        self.journal.overflow().map_or(Ok(()), |then| self.write(then, |_| Ok(())))
    }

    /// Makes changes durable in the journal, in their order. The database makes a very large one at once.
    fn make_durable(&self, changes: Vec<Change>) -> Result<(), VaultError> {
        if !self.journal.is_open() {
            self.create_journal()?;
        }
        let mut group = Vec::with_capacity(changes.len());
        for change in changes {
            if !self.journal.is_too_large(&change) {
                group.push(change);
                continue;
            }
            if !group.is_empty() {
                self.journal.append(std::mem::take(&mut group))?;
            }
            self.with_write(|transaction| {
                let row_mark = self.row_mark.load(Ordering::Relaxed);
                database_changes::apply_change(transaction, &change, row_mark)
            })?;
        }
        if group.is_empty() { Ok(()) } else { self.journal.append(group) }
    }

    /// Opens the journal, if it has a file.
    fn open_journal(&self) -> Result<(), VaultError> {
        let mut mark = None;
        self.with_read(|transaction| {
            let is_new = transaction.list_tables()?.next().is_none();
            mark = if is_new { None } else { database_changes::read_mark(transaction)? };
            let sent =
                if is_new { None } else { database_changes::read_meta(transaction, changed_rows::SENT)? };
            self.row_mark.store(changed_rows::read_mark(transaction, sent)?, Ordering::Relaxed);
            Ok(())
        })?;
        mark.map_or(Ok(()), |mark| self.journal.open(mark))
    }

    fn create_journal(&self) -> Result<(), VaultError> {
        let mark = self.journal.create().map_err(|error| failure(redb::Error::Io(error)))?;
        self.with_write(|transaction| database_changes::set_mark(transaction, &mark))?;
        self.journal.open(mark)
    }

    /// A snapshot of the disk.
    pub(crate) fn snapshot(&self) -> Result<DiskSnapshot, VaultError> {
        let waiting = self.journal.waiting();
        let at = self.database.begin_read().map_err(|error| self.explain(error.into()))?;
        Ok(DiskSnapshot { waiting, at, first_failure: self.first_failure.clone() })
    }
}

/// Lets other tasks run, as they do while another thread works. A caller that is answered too early then gets the
/// answer before the work starts. Needs no runtime.
async fn yield_turns() {
    for _ in 0..TURNS {
        let mut has_waited = false;
        poll_fn(|context| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trusted::folder_sync::tests::FragileFolder;
    use redb::backends::InMemoryBackend;
    use std::io::ErrorKind;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The number of folder syncs of an opening.
    fn syncs_of_an_opening() -> u64 {
        let folder = FragileFolder::new();
        open(&folder).unwrap();
        folder.syncs.get()
    }

    fn open(folder: &FragileFolder) -> Result<TrustedDisk, VaultError> {
        std::fs::create_dir_all(folder.path("data/trusted")).unwrap();
        TrustedDisk::open_in(&folder.path("data/trusted/vault.redb"), |at| folder.sync(at))
    }

    #[test]
    fn a_table_that_is_missing_is_noticed_and_does_not_pass_for_an_empty_one() {
        for table in ["meta", "journal", "rows"] {
            let folder = FragileFolder::new();
            open(&folder).unwrap();
            open(&folder).unwrap();
            let database = Database::open(folder.path("data/trusted/vault.redb")).unwrap();
            let transaction = database.begin_write().unwrap();
            let found = transaction.list_tables().unwrap().find(|found| found.name() == table).unwrap();
            assert!(transaction.delete_table(found).unwrap());
            transaction.commit().unwrap();
            drop(database);
            let refused = open(&folder).err();
            assert!(matches!(refused, Some(VaultError::Damaged(_))), "{table}: {refused:?}");
        }
    }

    #[test]
    fn what_was_committed_outlasts_a_power_loss_though_the_opening_that_made_the_file_was_cut_off() {
        let syncs = syncs_of_an_opening();
        assert!(syncs >= 3, "{syncs} syncs: of the folder, of that above it, and of the outermost");
        for cut_off_after in 0..syncs {
            let folder = FragileFolder::new();
            folder.fail_after(cut_off_after);
            assert!(open(&folder).is_err(), "after {cut_off_after} syncs");
            open(&folder).unwrap().set_meta("note", b"acknowledged").unwrap();
            folder.lose_power();
            let noted = open(&folder).unwrap().meta("note").unwrap();
            assert_eq!(noted.as_deref(), Some(&b"acknowledged"[..]), "cut off after {cut_off_after} syncs");
        }
    }

    /// A disk that can be full.
    #[derive(Debug)]
    struct Fillable(InMemoryBackend, Arc<AtomicBool>);

    impl StorageBackend for Fillable {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.read(offset, out)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.0.set_len(len)
        }

        fn sync_data(&self) -> io::Result<()> {
            self.0.sync_data()
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            if self.1.load(Ordering::Relaxed) {
                return Err(ErrorKind::StorageFull.into());
            }
            self.0.write(offset, data)
        }
    }

    #[test]
    fn a_caller_is_told_why_the_disk_failed_even_before_the_caller_for_whom_it_failed() {
        let is_full = Arc::new(AtomicBool::new(false));
        let backend = Fillable(InMemoryBackend::new(), is_full.clone());
        let disk =
            TrustedDisk::with_backends(backend, InMemoryBackend::new(), InMemoryBackend::new()).unwrap();
        is_full.store(true, Ordering::Relaxed);
        let transaction = checked_database::begin_write(&disk.database).unwrap();
        transaction.open_table(META).unwrap().insert("note", &b"first"[..]).unwrap();
        let unreported = transaction.commit().unwrap_err();
        let error = disk.set_meta("note", b"second").unwrap_err();
        assert!(matches!(error, VaultError::DiskFull), "{error:?}");
        assert!(matches!(disk.explain(unreported.into()), VaultError::DiskFull));
    }
}
