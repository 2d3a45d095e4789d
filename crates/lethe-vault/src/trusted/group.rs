//! Changes of the trusted disk that are made durable together: while one transaction is synced, others come to wait, and
//! the next transaction takes all of them.
//!
//! A sync takes milliseconds however little it writes. With a transaction for each change, sixteen callers would wait for
//! sixteen syncs in a row, and the journal's records behind them.

use super::disk::TrustedDisk;
use super::row::RowChange;
use crate::error::VaultError;
use redb::WriteTransaction;
use std::sync::{Arc, Mutex, OnceLock};

/// A change that can wait with others.
pub(crate) enum Change {
    /// Records for the journal, by sequence number.
    Records(Vec<(u64, Vec<u8>)>),
    /// Changes of rows, sealed and by the hash of their keys.
    Rows(Vec<RowChange>),
}

/// The changes that wait, in the order in which they came.
#[derive(Default)]
pub(crate) struct Group {
    waiting: Mutex<Vec<Waiting>>,
    /// Held by the caller that makes a transaction.
    turn: Mutex<()>,
}

type Outcome = Arc<OnceLock<Result<(), VaultError>>>;

struct Waiting {
    change: Change,
    outcome: Outcome,
}

/// A change that has its place in the order. It comes into effect with [`commit`](Self::commit), or with a later one.
#[must_use = "it may never come into effect"]
pub(crate) struct Entered<'a> {
    disk: &'a TrustedDisk,
    outcome: Outcome,
}

impl Group {
    /// Takes a change in.
    pub(super) fn enter<'a>(&self, disk: &'a TrustedDisk, change: Change) -> Entered<'a> {
        let outcome = Outcome::default();
        let waiting = Waiting { change, outcome: outcome.clone() };
        self.waiting.lock().expect("nobody panics with this lock").push(waiting);
        Entered { disk, outcome }
    }

    /// The changes that wait, which wait no more.
    fn take(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.waiting.lock().expect("nobody panics with this lock"))
    }
}

impl Entered<'_> {
    /// Returns when the change is durable, all of it, or nothing of it is made.
    ///
    /// # Errors
    /// [`VaultError::Disk`], [`VaultError::DiskFull`]: then nothing of the whole group is.
    pub(crate) fn commit(self) -> Result<(), VaultError> {
        let group = &self.disk.group;
        let _turn = group.turn.lock().expect("nobody panics with this lock");
        if let Some(outcome) = self.outcome.get() {
            return outcome.clone();
        }
        let all = group.take();
        let make = |transaction: &WriteTransaction| {
            all.iter().try_for_each(|waiting| match &waiting.change {
                Change::Records(records) => TrustedDisk::append_in(transaction, records),
                Change::Rows(changes) => TrustedDisk::change_rows_in(transaction, changes),
            })
        };
        let made = self.disk.change(make);
        for waiting in all {
            let _ = waiting.outcome.set(made.clone());
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trusted::disk::TrustedDisk;
    use redb::StorageBackend;
    use redb::backends::InMemoryBackend;
    use std::io;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Barrier, MutexGuard};

    /// Memory that counts syncs, keeps them waiting while its gate is held, and fails when told to.
    #[derive(Clone, Debug, Default)]
    struct Slow {
        memory: Arc<InMemoryBackend>,
        gate: Arc<Mutex<()>>,
        syncs: Arc<AtomicU64>,
        fails: Arc<AtomicBool>,
    }

    impl StorageBackend for Slow {
        fn len(&self) -> io::Result<u64> {
            self.memory.len()
        }
        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.memory.read(offset, out)
        }
        fn set_len(&self, len: u64) -> io::Result<()> {
            self.memory.set_len(len)
        }
        fn sync_data(&self) -> io::Result<()> {
            let _passes = self.gate.lock().unwrap();
            self.syncs.fetch_add(1, Ordering::SeqCst);
            if self.fails.load(Ordering::SeqCst) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.memory.write(offset, data)
        }
    }

    fn put(key: u8, value: u8) -> Change {
        Change::Rows(vec![RowChange::put(vec![key], vec![value])])
    }

    /// Has many callers commit while the first one's sync is held up. Returns their outcomes.
    fn commit_behind_one(
        disk: &TrustedDisk,
        gate: MutexGuard<'_, ()>,
        many: u8,
    ) -> Vec<Result<(), VaultError>> {
        let entered = Barrier::new(usize::from(many) + 1);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| disk.group.enter(disk, put(0, 0)).commit());
            // The first one has begun when nothing waits any more.
            while !disk.group.waiting.lock().unwrap().is_empty() || disk.group.turn.try_lock().is_ok() {
                std::thread::yield_now();
            }
            let enter = |nth| {
                let entered = &entered;
                scope.spawn(move || {
                    let change = disk.group.enter(disk, put(nth, nth));
                    entered.wait();
                    change.commit()
                })
            };
            let others: Vec<_> = (1..=many).map(enter).collect();
            entered.wait();
            drop(gate);
            std::iter::once(first).chain(others).map(|caller| caller.join().unwrap()).collect()
        })
    }

    #[test]
    fn what_comes_while_the_disk_syncs_is_made_durable_by_one_transaction_and_all_are_told() {
        let slow = Slow::default();
        let disk =
            TrustedDisk::over_shared(slow.clone(), InMemoryBackend::new(), lethe_core::words::Bytes(1 << 20));
        let disk = disk.unwrap();
        let before = slow.syncs.load(Ordering::SeqCst);
        disk.group.enter(&disk, put(0, 0)).commit().unwrap();
        let of_one = slow.syncs.load(Ordering::SeqCst) - before;
        let outcomes = commit_behind_one(&disk, slow.gate.lock().unwrap(), 16);
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        let syncs = slow.syncs.load(Ordering::SeqCst) - before - of_one;
        assert_eq!(syncs, 2 * of_one, "one transaction for the first, and one for sixteen");
        assert_eq!(disk.hold().unwrap().rows().unwrap().len(), 17);
    }

    #[test]
    fn of_two_changes_of_a_row_the_one_that_came_later_stays() {
        let disk = TrustedDisk::over(InMemoryBackend::new(), InMemoryBackend::new()).unwrap();
        let (earlier, later) = (disk.group.enter(&disk, put(1, 1)), disk.group.enter(&disk, put(1, 2)));
        later.commit().unwrap();
        earlier.commit().unwrap();
        assert_eq!(disk.hold().unwrap().rows().unwrap()[0].value, vec![2]);
    }

    #[test]
    fn a_failure_is_told_to_everybody_in_the_group() {
        let slow = Slow::default();
        let disk =
            TrustedDisk::over_shared(slow.clone(), InMemoryBackend::new(), lethe_core::words::Bytes(1 << 20));
        let disk = disk.unwrap();
        let gate = slow.gate.lock().unwrap();
        slow.fails.store(true, Ordering::SeqCst);
        let outcomes = commit_behind_one(&disk, gate, 8);
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(VaultError::DiskFull))), "{outcomes:?}");
    }
}
