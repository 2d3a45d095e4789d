//! The journal's file, torn and damaged sector by sector.

use super::file::JournalLimits;
use super::scan::{Group, scan};
use super::sector::{SECTOR, Sector};
use super::segments::SEGMENT;
use super::{ChangesForDatabase, JournalFile, JournalMark, NumberedRecord, RecordsThen};
use crate::error::VaultError;
use crate::trusted::commit_group::Change;
use crate::trusted::memory_file::MemoryFile;
use crate::trusted::row::RowChange;
use proptest::prelude::*;
use std::sync::Arc;

/// A journal over a file, with the mark that its database would hold.
struct TestJournal {
    file: MemoryFile,
    journal: JournalFile,
    mark: JournalMark,
}

impl TestJournal {
    fn new() -> Self {
        let file = MemoryFile::default();
        let journal = JournalFile::with_backend(file.clone(), Arc::default());
        let mark = journal.create().unwrap();
        journal.open(mark.clone()).unwrap();
        TestJournal { file, journal, mark }
    }

    fn open(bytes: Vec<u8>, mark: &JournalMark) -> Result<Self, VaultError> {
        let file = MemoryFile::of(bytes);
        let journal = JournalFile::with_backend(file.clone(), Arc::default());
        journal.open(mark.clone())?;
        Ok(TestJournal { file, journal, mark: mark.clone() })
    }

    /// Appends a record that takes about this many sectors.
    fn append(&self, sequence: u64, sectors: usize) {
        self.journal.append(vec![records(sequence, sectors)]).unwrap();
    }

    /// Lets a transaction take over what waits.
    fn commit(&mut self, then: RecordsThen) -> ChangesForDatabase {
        let changes = self.journal.for_database(then).unwrap().unwrap();
        self.mark = changes.mark.clone();
        self.journal.on_committed(self.journal.for_database(then).unwrap().unwrap());
        changes
    }

    fn contents(&self) -> Vec<NumberedRecord> {
        self.journal.records().unwrap()
    }
}

/// A record whose bytes are its number. With a group around it, it takes this many sectors.
fn records(sequence: u64, sectors: usize) -> Change {
    Change::Records(vec![(sequence, vec![sequence as u8; sectors * 480 - 100])])
}

fn row(key: u8, bytes: usize) -> Change {
    Change::Rows(vec![RowChange::put(vec![key], vec![key; bytes])])
}

/// The offsets of the sectors in which two files differ.
fn changed_sectors(before: &[u8], after: &[u8]) -> Vec<usize> {
    let blank = [0; SECTOR];
    let is_changed = |at: &usize| before.get(*at..at + SECTOR).unwrap_or(&blank) != &after[*at..at + SECTOR];
    (0..after.len()).step_by(SECTOR).filter(is_changed).collect()
}

/// The file after a crash in which only these of the changed sectors were written.
fn torn(before: &[u8], after: &[u8], written: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut left = before.to_vec();
    left.resize(after.len(), 0);
    for (nth, at) in changed_sectors(before, after).into_iter().enumerate() {
        if written(nth) {
            left[at..at + SECTOR].copy_from_slice(&after[at..at + SECTOR]);
        }
    }
    left
}

/// A journal whose places were all used before, so that a new group overwrites an old one.
fn used_before() -> TestJournal {
    let mut journal = TestJournal::new();
    for sequence in 0..120 {
        journal.append(sequence, 1 + sequence as usize % 3);
        if sequence % 4 == 0 {
            journal.commit(RecordsThen::Drop);
        }
    }
    journal.commit(RecordsThen::Drop);
    let bytes = journal.file.copy();
    assert_eq!(bytes.len() as u64, 4 * SEGMENT, "places are used again");
    assert!(bytes.chunks(SECTOR).all(|sector| matches!(Sector::of(sector), Sector::Whole(..))));
    journal
}

#[test]
fn every_part_of_a_torn_group_is_taken_for_none_and_the_whole_for_all() {
    for journal in [TestJournal::new(), used_before()] {
        journal.append(200, 2);
        let (known, before) = (journal.contents(), journal.file.copy());
        journal.append(201, 5);
        let (all, after) = (journal.contents(), journal.file.copy());
        let sectors = changed_sectors(&before, &after).len();
        assert_eq!(sectors, 5);
        for written in 0..1u32 << sectors {
            let left = torn(&before, &after, |nth| written & (1 << nth) != 0);
            let opened = TestJournal::open(left, &journal.mark).unwrap();
            let expected = if written + 1 == 1 << sectors { &all } else { &known };
            assert_eq!(&opened.contents(), expected, "{written:b}");
            // The journal continues from there, over what was torn.
            opened.append(202, 3);
            let (whole, sum) = (opened.contents(), opened.file.copy());
            assert_eq!((whole.len(), whole.last().unwrap().0), (expected.len() + 1, 202));
            assert_eq!(TestJournal::open(sum, &journal.mark).unwrap().contents(), whole);
        }
    }
}

#[test]
fn a_damaged_group_that_is_alone_in_its_segment_is_told() {
    for journal in [TestJournal::new(), used_before()] {
        let first_of_segment = |bytes: &[u8], before: &[u8]| {
            let changed = changed_sectors(before, bytes);
            changed.len() == 1 && (changed[0] as u64).is_multiple_of(SEGMENT)
        };
        let (mut sequence, mut before) = (500, journal.file.copy());
        journal.append(sequence, 1);
        while !first_of_segment(&journal.file.copy(), &before) {
            (sequence, before) = (sequence + 1, journal.file.copy());
            journal.append(sequence, 1);
        }
        let at = changed_sectors(&before, &journal.file.copy())[0];
        let mut spoilt = journal.file.copy();
        spoilt[at + 3] ^= 1;
        let refused = TestJournal::open(spoilt, &journal.mark).map(|_| ());
        assert!(matches!(refused, Err(VaultError::Damaged(_))), "{refused:?}");
    }
}

#[test]
fn parts_of_two_torn_groups_never_make_a_whole_one() {
    let journal = used_before();
    let before = journal.file.copy();
    journal.append(300, 4);
    let first = journal.file.copy();
    for written in 0..(1u32 << 4) - 1 {
        let left = torn(&before, &first, |nth| written & (1 << nth) != 0);
        let again = TestJournal::open(left.clone(), &journal.mark).unwrap();
        again.append(301, 4);
        let second = again.file.copy();
        let changed = changed_sectors(&left, &second).len();
        assert_eq!(changed, 4);
        for written in 0..(1u32 << changed) - 1 {
            let left = torn(&left, &second, |nth| written & (1 << nth) != 0);
            assert_eq!(TestJournal::open(left, &journal.mark).unwrap().contents(), []);
        }
    }
}

#[test]
fn a_changed_bit_of_a_group_is_damage_wherever_it_is() {
    let journal = used_before();
    let unused = journal.file.copy();
    (0..9).for_each(|nth| journal.append(400 + nth, 1 + nth as usize % 3));
    let used = journal.file.copy();
    let needed = changed_sectors(&unused, &used);
    assert_eq!(needed.len(), 18);
    for at in needed {
        for byte in [0, 5, 8, 17, 24, 31, 40, 511] {
            let mut spoilt = used.clone();
            spoilt[at + byte] ^= 16;
            let opened = TestJournal::open(spoilt, &journal.mark).err();
            assert!(matches!(opened, Some(VaultError::Damaged(_))), "byte {byte} at {at}: {opened:?}");
        }
    }
}

#[test]
fn a_group_that_was_not_written_though_a_later_one_was_is_damage() {
    let journal = used_before();
    let mut files = vec![journal.file.copy()];
    for nth in 0..12 {
        journal.append(500 + nth, 1 + nth as usize % 3);
        files.push(journal.file.copy());
    }
    let last = files.last().unwrap().clone();
    for (before, after) in files.iter().zip(&files[1..files.len() - 1]) {
        for at in changed_sectors(before, after) {
            // The disk has not written the sector, and said that it had.
            let mut spoilt = last.clone();
            spoilt[at..at + SECTOR].copy_from_slice(&before[at..at + SECTOR]);
            let opened = TestJournal::open(spoilt, &journal.mark).err();
            assert!(matches!(opened, Some(VaultError::Damaged(_))), "sector at {at}: {opened:?}");
        }
    }
}

#[test]
fn a_file_that_is_older_than_its_database_is_damaged() {
    let mut journal = used_before();
    let older = journal.file.copy();
    journal.append(600, 1);
    let applied =
        JournalMark { applied: journal.commit(RecordsThen::Stay).mark.applied, ..journal.mark.clone() };
    assert_eq!(TestJournal::open(journal.file.copy(), &applied).unwrap().contents().len(), 1);
    journal.commit(RecordsThen::Drop);
    for mark in [&applied, &journal.mark] {
        for file in [older.clone(), vec![0; older.len()], Vec::new()] {
            assert!(matches!(TestJournal::open(file, mark).err(), Some(VaultError::Damaged(_))), "{mark:?}");
        }
    }
}

#[test]
fn a_place_is_not_used_again_before_the_database_is_known_to_need_it_no_more() {
    let mut journal = used_before();
    for round in 0..20 {
        for nth in 0..40 {
            journal.append(round * 100 + nth, 2);
        }
        let changes = journal.journal.for_database(RecordsThen::Drop).unwrap().unwrap();
        // More groups come while the transaction is under way.
        (40..60).for_each(|nth| journal.append(round * 100 + nth, 3));
        assert_eq!(TestJournal::open(journal.file.copy(), &journal.mark).unwrap().contents().len(), 60);
        journal.mark = changes.mark.clone();
        journal.journal.on_committed(changes);
        assert_eq!(TestJournal::open(journal.file.copy(), &journal.mark).unwrap().contents().len(), 20);
        journal.commit(RecordsThen::Drop);
    }
    assert!(journal.file.copy().len() as u64 <= 16 * SEGMENT, "{} bytes", journal.file.copy().len());
}

#[test]
fn rows_without_a_checkpoint_bound_the_memory_and_the_file() {
    let limits = JournalLimits { in_memory: 10_000, in_file: 100_000 };
    let file = MemoryFile::default();
    let journal = JournalFile::with_backend(file.clone(), Arc::default()).with_limits(limits);
    let mark = journal.create().unwrap();
    journal.open(mark).unwrap();
    let (mut made, mut moved) = (Vec::new(), Vec::new());
    for nth in 0..1000u64 {
        journal.append(vec![row(nth as u8, 1000)]).unwrap();
        if nth == 500 {
            journal.append(vec![records(7, 2)]).unwrap();
        }
        if let Some(then) = journal.overflow() {
            let changes = journal.for_database(then).unwrap().unwrap();
            made.extend(changes.changes.after(changes.applied).cloned());
            moved.extend(changes.records.clone());
            journal.on_committed(changes);
        }
        assert!(journal.waiting().bytes() <= 11_000);
        assert_eq!(journal.records().unwrap().len() + moved.len(), usize::from(nth >= 500), "{nth}");
    }
    assert!(made.len() > 980 && moved.len() == 1, "{} rows and {} records", made.len(), moved.len());
    made.extend(journal.waiting().after(0).cloned());
    let expected: Vec<Change> = (0..1000u64).map(|nth| row(nth as u8, 1000)).collect();
    let rows = made.into_iter().filter(|change| matches!(change, Change::Rows(_)));
    assert!(rows.eq(expected), "each change once, in order");
    assert!(file.copy().len() < 300_000, "{} bytes", file.copy().len());
}

proptest! {
    #[test]
    fn what_was_appended_is_read_whenever_the_journal_is_opened_again(
        steps in prop::collection::vec((0u8..8, 1usize..70), 1..120),
    ) {
        let (mut journal, mut expected, mut rows) = (TestJournal::new(), Vec::new(), Vec::new());
        for (nth, (what, size)) in steps.into_iter().enumerate() {
            match what {
                0 => {
                    journal.commit(RecordsThen::Drop);
                    expected.clear();
                    rows.clear();
                }
                1 => {
                    journal.commit(RecordsThen::Stay);
                    rows.clear();
                }
                2 => journal = TestJournal::open(journal.file.copy(), &journal.mark).unwrap(),
                3 | 4 => {
                    journal.journal.append(vec![row(nth as u8, 10 * size)]).unwrap();
                    rows.push(row(nth as u8, 10 * size));
                }
                _ => {
                    journal.append(nth as u64, size);
                    expected.push((nth as u64, vec![nth as u8; size * 480 - 100]));
                }
            }
            prop_assert_eq!(journal.contents(), &expected[..]);
            prop_assert!(journal.journal.waiting().after(journal.mark.applied).eq(&rows));
        }
    }
}

/// Reads a file with any bytes. With `whole`, its sectors have correct checksums.
pub(crate) fn read_any_file(bytes: &[u8], whole: bool) {
    let mark = JournalMark { file: String::new(), group: 3, at: 40, applied: 3 };
    let mut file = bytes.to_vec();
    file.resize(file.len().next_multiple_of(SEGMENT as usize), 0);
    if whole {
        file.chunks_exact_mut(SECTOR).for_each(Sector::correct);
    }
    for mark in [mark, JournalMark::default()] {
        let mut groups = Vec::new();
        let scanned = scan(&MemoryFile::of(file.clone()), &mark, &mut |(group, _): Group| groups.push(group));
        if let Ok(scanned) = scanned {
            assert!(groups.is_sorted() && scanned.next > scanned.last);
        }
    }
}
