//! A snapshot of the trusted disk: that of the database, with the changes that only the journal holds.

use super::changed_rows;
use super::database_changes::{ROWS, read_mark, read_meta};
use super::failure::FirstFailure;
use super::journal::WaitingChanges;
use super::row::Row;
use super::unlogged_commits::CommitId;
use super::unlogged_table;
use crate::error::VaultError;
use redb::ReadTransaction;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A snapshot of the disk. Later changes do not affect it.
pub(crate) struct DiskSnapshot {
    /// Taken before `at`. So no change is missing, and some may be in both.
    pub(super) waiting: WaitingChanges,
    pub(super) at: ReadTransaction,
    pub(super) first_failure: FirstFailure,
}

impl DiskSnapshot {
    /// All rows: the hash of each key, and the sealed row. Sorted by hash.
    pub(crate) fn rows(&self) -> Result<Vec<Row>, VaultError> {
        let mut rows = Vec::new();
        self.visit_rows(&[], |hash, sealed| {
            rows.push(Row::new(hash.to_vec(), sealed.to_vec()));
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    /// Visits the rows from a hash on, in the order of the hashes, until `each` breaks.
    pub(super) fn visit_rows(
        &self,
        from: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), VaultError> {
        self.read(|at, applied| {
            let changed = self.waiting.changed_rows(applied);
            let mut waiting = changed.range(from..).peekable();
            for entry in at.open_table(ROWS)?.range(from..)? {
                let (key, value) = entry?;
                let hash = key.value();
                while let Some((before, put)) = waiting.next_if(|(waiting, _)| **waiting < hash) {
                    if put.is_some_and(|put| each(before, put).is_break()) {
                        return Ok(());
                    }
                }
                let put = match waiting.next_if(|(waiting, _)| **waiting == hash) {
                    Some((_, put)) => *put,
                    None => Some(value.value()),
                };
                if put.is_some_and(|put| each(hash, put).is_break()) {
                    return Ok(());
                }
            }
            for (hash, put) in waiting {
                if put.is_some_and(|put| each(hash, put).is_break()) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// The hashes of the rows that were changed after a mark, each with its last mark. Those of changes that the
    /// database does not have yet come with the highest.
    pub(super) fn changed_rows(&self, mark: u64) -> Result<BTreeMap<Vec<u8>, u64>, VaultError> {
        self.read(|at, applied| {
            let mut changed = changed_rows::read_after(at, mark)?;
            let waiting = self.waiting.changed_rows(applied);
            changed.extend(waiting.into_keys().map(|hash| (hash.to_vec(), u64::MAX)));
            Ok(changed)
        })
    }

    /// Visits rows with these hashes in their order, and `None` for each that does not exist, until `each` breaks.
    pub(super) fn visit_rows_of<'a>(
        &self,
        hashes: impl Iterator<Item = &'a [u8]>,
        mut each: impl FnMut(&[u8], Option<&[u8]>) -> ControlFlow<()>,
    ) -> Result<(), VaultError> {
        self.read(|at, applied| {
            let (changed, table) = (self.waiting.changed_rows(applied), at.open_table(ROWS)?);
            for hash in hashes {
                let flow = match changed.get(hash) {
                    Some(put) => each(hash, *put),
                    None => each(hash, table.get(hash)?.as_ref().map(|sealed| sealed.value())),
                };
                if flow.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// The value of this name.
    pub(super) fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, VaultError> {
        self.read(|at, applied| match self.waiting.note(name, applied) {
            Some(note) => Ok(Some(note)),
            None => read_meta(at, name),
        })
    }

    /// The sealed commits that the journal in the store may not hold, in order.
    pub(super) fn unlogged_commits(&self) -> Result<Vec<(CommitId, Vec<u8>)>, VaultError> {
        self.read(|at, applied| Ok(self.waiting.change_commits(applied, unlogged_table::read_commits(at)?)))
    }

    /// Reads from the database, whose changes go up to a group of the journal.
    fn read<T>(
        &self,
        work: impl FnOnce(&ReadTransaction, u64) -> Result<T, redb::Error>,
    ) -> Result<T, VaultError> {
        let mark = read_mark(&self.at).map(|mark| mark.map_or(0, |mark| mark.applied));
        mark.and_then(|applied| work(&self.at, applied)).map_err(|error| self.first_failure.explain(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trusted::commit_group::Change;
    use crate::trusted::disk::TrustedDisk;
    use crate::trusted::journal::RecordsThen;
    use crate::trusted::memory_file::MemoryFile;
    use crate::trusted::row::RowChange;
    use proptest::prelude::*;
    use redb::StorageBackend;
    use redb::backends::InMemoryBackend;
    use std::collections::BTreeMap;
    use std::io;
    use std::sync::{Arc, Mutex, OnceLock};

    fn open(database: impl StorageBackend, journal: impl StorageBackend) -> TrustedDisk {
        TrustedDisk::with_backends(database, InMemoryBackend::new(), journal).unwrap()
    }

    fn commit(disk: &TrustedDisk, change: Change) {
        disk.commit(disk.enqueue(change)).unwrap();
    }

    fn rows(disk: &TrustedDisk) -> Vec<Row> {
        let mut rows = disk.snapshot().unwrap().rows().unwrap();
        rows.sort_unstable();
        rows
    }

    proptest! {
        #[test]
        fn what_was_committed_is_read_at_once_and_after_every_transaction_and_opening(
            steps in prop::collection::vec((0u8..10, 0u8..6, 1usize..400), 1..60),
        ) {
            let (database, journal) = (MemoryFile::default(), MemoryFile::default());
            let mut disk = open(database.clone(), journal.clone());
            let mut expected: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            let (mut records, mut note, mut commits) = (Vec::new(), None, Vec::new());
            for (nth, (what, key, size)) in (1u64..).zip(steps) {
                let value = vec![nth as u8; size];
                match what {
                    0 => disk.write(RecordsThen::Stay, |_| Ok(())).unwrap(),
                    1 => disk.write(RecordsThen::Move, |_| Ok(())).unwrap(),
                    2 => {
                        disk.write(RecordsThen::Drop, super::super::database_changes::clear_journal).unwrap();
                        records.clear();
                    }
                    3 => {
                        drop(disk);
                        disk = open(database.clone(), journal.clone());
                    }
                    4 => {
                        commit(&disk, Change::Records(vec![(nth, value.clone())]));
                        records.push((nth, value));
                    }
                    5 => {
                        let logged = commits.first().map_or(0, |(id, _)| *id);
                        let change = Change::RecordsWithNote {
                            records: vec![(nth, value.clone())],
                            name: "note".into(),
                            note: value.clone(),
                            logged,
                        };
                        commit(&disk, change);
                        records.push((nth, value.clone()));
                        note = Some(value);
                        commits.retain(|(id, _)| *id > logged);
                    }
                    6 => {
                        disk.set_meta("note", &value).unwrap();
                        note = Some(value);
                    }
                    7 => {
                        let changes = vec![RowChange::remove(vec![key])];
                        commit(&disk, Change::Rows(changes));
                        expected.remove(&vec![key]);
                    }
                    _ => {
                        let changes = vec![RowChange::put(vec![key], value.clone())];
                        let sealed = Some((nth, value.clone()));
                        let logged = commits.first().map_or(0, |(id, _): &(u64, Vec<u8>)| id - 1);
                        commit(&disk, Change::RowsWithCommit { changes, commit: sealed, logged });
                        expected.insert(vec![key], value.clone());
                        commits.push((nth, value));
                    }
                }
                let here: Vec<Row> = expected.iter().map(|(key, value)| Row::new(key.clone(), value.clone())).collect();
                prop_assert_eq!(rows(&disk), here);
                prop_assert_eq!(disk.journal().unwrap(), &records[..]);
                prop_assert_eq!(disk.meta("note").unwrap(), note.clone());
                prop_assert_eq!(disk.unlogged_commits().unwrap(), &commits[..]);
            }
        }
    }

    #[test]
    fn a_very_large_change_goes_to_the_database_in_its_order() {
        let (database, journal) = (MemoryFile::default(), MemoryFile::default());
        let disk = open(database, journal.clone());
        let [first, large, last] =
            [1, 5 << 20, 2].map(|bytes| RowChange::put("row", vec![bytes as u8; bytes]));
        let queued = [first, large, last].map(|change| disk.enqueue_rows(vec![change]));
        queued.into_iter().for_each(|queued| disk.commit(queued).unwrap());
        assert_eq!(rows(&disk), [Row::new("row", vec![2; 2])]);
        assert!(journal.copy().len() < 1 << 20, "it is not in the journal");
    }

    #[test]
    fn many_changes_of_rows_without_a_checkpoint_are_taken_over_by_the_database() {
        let (database, journal) = (MemoryFile::default(), MemoryFile::default());
        let disk = open(database, journal.clone());
        commit(&disk, Change::Records(vec![(7, vec![1; 3000])]));
        for nth in 0..60u8 {
            commit(&disk, Change::Rows(vec![RowChange::put(vec![nth % 3], vec![nth; 200_000])]));
            disk.bound_journal().unwrap();
            assert!(disk.snapshot().unwrap().waiting.bytes() <= 4 << 20);
        }
        assert_eq!(disk.journal().unwrap(), [(7, vec![1; 3000])]);
        assert_eq!(rows(&disk), [57, 58, 59].map(|nth: u8| Row::new(vec![nth % 3], vec![nth; 200_000])));
    }

    /// A database that runs something at each of its syncs.
    struct Hooked {
        file: MemoryFile,
        hook: Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>,
    }

    impl std::fmt::Debug for Hooked {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.file.fmt(f)
        }
    }

    impl StorageBackend for Hooked {
        fn len(&self) -> io::Result<u64> {
            self.file.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.file.read(offset, out)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.file.set_len(len)
        }

        fn sync_data(&self) -> io::Result<()> {
            self.hook.get().iter().for_each(|hook| hook());
            self.file.sync_data()
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.file.write(offset, data)
        }
    }

    #[test]
    fn rows_that_come_during_a_checkpoint_overwrite_nothing_that_is_needed_if_it_fails() {
        let (file, journal, hook) = (MemoryFile::default(), MemoryFile::default(), Arc::default());
        let disk = open(Hooked { file: file.clone(), hook: Arc::clone(&hook) }, journal.clone());
        let put = |key: u8| Change::Rows(vec![RowChange::put(vec![key], vec![key; 900])]);
        (0..100).for_each(|key| commit(&disk, put(key)));
        commit(&disk, Change::Records(vec![(7, vec![1; 3000])]));
        let (left, before) = (Arc::new(Mutex::new(Vec::new())), file.copy());
        let (copies, other) = (Arc::clone(&left), disk.clone());
        let during = move || {
            if copies.lock().unwrap().len() < 2 {
                (100..200).for_each(|key| commit(&other, put(key)));
                copies.lock().unwrap().push(journal.copy());
            }
        };
        assert!(hook.set(Box::new(during)).is_ok());
        disk.write(RecordsThen::Drop, |_| Ok(())).unwrap();
        let left = left.lock().unwrap().clone();
        assert!(!left.is_empty());
        for journal in left {
            // The transaction never became durable.
            let disk = open(MemoryFile::of(before.clone()), MemoryFile::of(journal));
            assert_eq!((rows(&disk).len(), disk.journal().unwrap().len()), (200, 1));
        }
        assert_eq!((rows(&disk).len(), disk.journal().unwrap().len()), (200, 0));
    }
}
