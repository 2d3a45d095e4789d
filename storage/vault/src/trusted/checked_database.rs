//! The database of the trusted disk, opened so that damage is noticed.
//!
//! Each opening verifies the checksum of every page. Each commit has two phases: its pages are durable before the
//! database points to them. So a commit whose pages do not verify was damaged later. With single-phase commits, power
//! loss could also have cut it off. The database would then go back to the previous commit, and lose what was
//! acknowledged. The price is a second sync for each commit.

use crate::error::VaultError;
use crate::trusted::database_file::DatabaseFile;
use crate::trusted::disk_reserve::DiskReserve;
use crate::trusted::failure::{FirstFailure, failure};
use redb::{Database, StorageBackend, WriteTransaction};
use std::sync::Arc;

/// Opens or creates a checked database with a cache of this many bytes. Its first failure is recorded.
///
/// # Errors
/// [`VaultError::Locked`], [`VaultError::Damaged`], [`VaultError::Disk`], [`VaultError::DiskFull`].
pub(super) fn open(
    backend: impl StorageBackend,
    cache: usize,
    reserve: &Arc<DiskReserve>,
) -> Result<(Database, FirstFailure), VaultError> {
    let first_failure = FirstFailure::default();
    let mut builder = Database::builder();
    builder.set_cache_size(cache).set_check_integrity_on_open(true);
    let database =
        builder.create_with_backend(DatabaseFile::new(backend, first_failure.clone(), Arc::clone(reserve)));
    Ok((database.map_err(failure)?, first_failure))
}

/// Begins a transaction with a two-phase commit.
pub(super) fn begin_write(database: &Database) -> Result<WriteTransaction, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    Ok(transaction)
}

#[cfg(test)]
mod tests {
    use crate::error::VaultError;
    use crate::trusted::disk::TrustedDisk;
    use crate::trusted::journal::RecordsThen;
    use crate::trusted::memory_file::MemoryFile;
    use crate::trusted::row::{Row, RowChange};
    use redb::StorageBackend;
    use redb::backends::InMemoryBackend;
    use std::io;
    use std::sync::{Arc, RwLock};

    /// The bytes of the database and of the journal.
    type Files = [Vec<u8>; 2];

    fn open(files: Files) -> Result<TrustedDisk, VaultError> {
        let [database, journal] = files.map(MemoryFile::of);
        TrustedDisk::with_backends(database, InMemoryBackend::new(), journal)
    }

    /// A note, the journal and the rows.
    type Contents = (Option<Vec<u8>>, Vec<(u64, Vec<u8>)>, Vec<Row>);

    fn contents(disk: &TrustedDisk) -> Result<Contents, VaultError> {
        Ok((disk.meta("note")?, disk.journal()?, disk.snapshot()?.rows()?))
    }

    /// The files of a disk after some commits, of which the last is small. Half of the records and rows are in the
    /// database, the others in the journal. The first result is the files after a kill, the second those after a close.
    fn files() -> [Files; 2] {
        let [database, journal] = [(); 2].map(|()| MemoryFile::default());
        let disk =
            TrustedDisk::with_backends(database.clone(), InMemoryBackend::new(), journal.clone()).unwrap();
        disk.set_meta("note", b"first").unwrap();
        for nth in 0..24u8 {
            disk.append(vec![(nth.into(), vec![nth; 700])]).unwrap();
            disk.commit(disk.enqueue_rows(vec![RowChange::put(vec![nth], vec![nth; 300])])).unwrap();
            if nth == 12 {
                disk.write(RecordsThen::Move, |_| Ok(())).unwrap();
            }
        }
        disk.set_meta("note", b"last").unwrap();
        let killed = [database.copy(), journal.copy()];
        drop(disk);
        [killed, [database.copy(), journal.copy()]]
    }

    /// The byte and the bit that select the newest of two commits. redb stores it without a checksum.
    const NEWEST: (usize, u8) = (9, 1);

    /// The size of a page.
    const PAGE: usize = 4096;
    /// The number of bytes of the header that redb writes.
    const HEADER: usize = 320;

    /// The positions of changed bits: each bit of the header, and one bit in many bytes of every page that was written.
    /// In a page that is blank, whose bytes all mean the same, one bit is changed.
    fn places(database: &[u8]) -> impl Iterator<Item = (usize, u8)> {
        assert!(database[HEADER..PAGE].iter().all(|byte| *byte == 0), "the header has further bytes");
        let header = (0..HEADER).flat_map(|byte| (0..8).map(move |bit| (byte, 1 << bit)));
        let pages = (0..).step_by(PAGE).zip(database.chunks(PAGE)).flat_map(|(start, page)| {
            let is_blank = page.iter().all(|byte| *byte == 0);
            let (first, step) = if is_blank { (start / PAGE * 61 % PAGE, PAGE) } else { (start % 61, 61) };
            (first..page.len()).step_by(step).map(move |byte| (start + byte, 1 << (byte % 8)))
        });
        header.chain(pages.filter(|(byte, _)| *byte >= HEADER)).filter(|place| *place != NEWEST)
    }

    #[test]
    fn a_database_with_a_changed_bit_is_damaged_or_holds_every_commit() {
        for files in files() {
            let whole = contents(&open(files.clone()).unwrap()).unwrap();
            assert_eq!((whole.1.len(), whole.2.len()), (24, 24));
            let mut noticed = 0;
            for (byte, bit) in places(&files[0]) {
                let mut spoilt = files.clone();
                spoilt[0][byte] ^= bit;
                match open(spoilt).and_then(|disk| contents(&disk)) {
                    Ok(found) => assert!(found == whole, "bit {bit} of byte {byte}"),
                    Err(VaultError::Damaged(_)) => noticed += 1,
                    Err(other) => panic!("bit {bit} of byte {byte}: {other:?}"),
                }
            }
            assert!(noticed > 500, "{noticed} places were noticed");
        }
    }

    /// The file after each write and each change of length during the creation of a database.
    #[derive(Clone, Debug, Default)]
    struct Steps(MemoryFile, Arc<RwLock<Vec<Vec<u8>>>>);

    impl StorageBackend for Steps {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.read(offset, out)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.0.set_len(len)?;
            self.1.write().unwrap().push(self.0.copy());
            Ok(())
        }

        fn sync_data(&self) -> io::Result<()> {
            Ok(())
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.0.write(offset, data)?;
            self.1.write().unwrap().push(self.0.copy());
            Ok(())
        }
    }

    #[test]
    fn a_database_whose_making_was_cut_off_at_any_step_is_made_by_the_next_opening() {
        let steps = Steps::default();
        let others = (InMemoryBackend::new(), InMemoryBackend::new());
        drop(TrustedDisk::with_backends(steps.clone(), others.0, others.1).unwrap());
        let left = steps.1.read().unwrap().clone();
        let is_unmarked = |file: &&Vec<u8>| file[..9] == [0; 9];
        assert!(left.iter().filter(is_unmarked).count() >= 2, "of {} steps", left.len());
        for (nth, file) in left.into_iter().enumerate() {
            let disk = open([file, Vec::new()]).unwrap_or_else(|error| panic!("step {nth}: {error}"));
            disk.set_meta("note", b"made").unwrap();
            assert_eq!(disk.meta("note").unwrap().as_deref(), Some(&b"made"[..]), "step {nth}");
        }
    }

    #[test]
    fn a_database_that_was_made_is_never_taken_for_none() {
        for mut files in files() {
            let length = files[0].len();
            for end in [9, 320, 4096] {
                files[0][..end].fill(0);
                assert!(
                    matches!(open(files.clone()).err(), Some(VaultError::Damaged(_))),
                    "{end} of {length}"
                );
            }
        }
    }

    #[test]
    fn the_last_commit_of_a_database_that_died_is_not_given_up_for_the_one_before() {
        let [killed, _] = files();
        let place = killed[0].windows(4).rposition(|window| window == b"last");
        let mut spoilt = killed;
        spoilt[0][place.expect("the last commit is there")] ^= 1;
        assert!(matches!(open(spoilt).err(), Some(VaultError::Damaged(_))));
    }
}
