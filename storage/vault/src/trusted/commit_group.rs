//! Group commit on the trusted disk. While one group of changes is synced, further changes wait, and the next group
//! takes all of them.
//!
//! A sync takes milliseconds, however little it writes. With one sync for each change, sixteen callers would wait for
//! sixteen syncs in a row, and so would the journal's records after them.

use super::row::RowChange;
use super::unlogged_commits::CommitId;
use crate::error::VaultError;
use borsh::{BorshDeserialize, BorshSerialize};
use std::sync::{Arc, Mutex, OnceLock};

/// A change that can share a sync with others.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Change {
    /// Records for the journal, by sequence number.
    Records(Vec<(u64, Vec<u8>)>),
    /// Sealed changes of rows, by the hashes of their keys.
    Rows(Vec<RowChange>),
    /// Changes of rows with their sealed commit, if the store must get it. Commits up to `logged` are deleted.
    RowsWithCommit { changes: Vec<RowChange>, commit: Option<(CommitId, Vec<u8>)>, logged: CommitId },
    /// Records with a note of their log object. Commits up to `logged` are deleted.
    RecordsWithNote { records: Vec<(u64, Vec<u8>)>, name: String, note: Vec<u8>, logged: CommitId },
}

impl Change {
    /// Returns whether the change has records.
    pub(crate) fn has_records(&self) -> bool {
        matches!(self, Change::Records(_) | Change::RecordsWithNote { .. })
    }

    /// The number of bytes of the change, without the lengths of its parts.
    pub(crate) fn bytes(&self) -> u64 {
        let of_records =
            |records: &[(u64, Vec<u8>)]| records.iter().map(|(_, record)| record.len()).sum::<usize>();
        let of_row = |row: &RowChange| row.key.len() + row.value.as_ref().map_or(0, |value| value.len());
        let of_rows = |rows: &[RowChange]| rows.iter().map(of_row).sum::<usize>();
        let bytes = match self {
            Change::Records(records) => of_records(records),
            Change::Rows(rows) => of_rows(rows),
            Change::RowsWithCommit { changes, commit, .. } => {
                of_rows(changes) + commit.as_ref().map_or(0, |(_, commit)| commit.len())
            }
            Change::RecordsWithNote { records, name, note, .. } => {
                of_records(records) + name.len() + note.len()
            }
        };
        bytes as u64
    }
}

/// The changes that wait, in order.
#[derive(Default)]
pub(crate) struct CommitGroup {
    waiting: Mutex<(Vec<Change>, Vec<Outcome>)>,
    /// The lock of the caller that makes a group durable.
    turn: Mutex<()>,
}

type Outcome = Arc<OnceLock<Result<(), VaultError>>>;

/// A change in the queue. It takes effect with [`CommitGroup::commit`], or with that of a later change.
#[must_use = "the change may never come into effect"]
pub(crate) struct QueuedChange(Outcome);

impl CommitGroup {
    /// Adds a change to the queue.
    pub(crate) fn enqueue(&self, change: Change) -> QueuedChange {
        let outcome = Outcome::default();
        let mut waiting = self.waiting.lock().expect("no thread panics while it holds this lock");
        waiting.0.push(change);
        waiting.1.push(outcome.clone());
        QueuedChange(outcome)
    }

    /// Returns when the change is durable as a whole, or has failed as a whole. `apply` makes changes durable together,
    /// in their order. It is not called if an earlier caller has committed this change.
    ///
    /// # Errors
    /// The errors of `apply`. Then no change of the group is made, and all callers get the error.
    pub(crate) fn commit(
        &self,
        QueuedChange(outcome): QueuedChange,
        apply: impl FnOnce(Vec<Change>) -> Result<(), VaultError>,
    ) -> Result<(), VaultError> {
        let _turn = self.turn.lock().expect("no thread panics while it holds this lock");
        if let Some(outcome) = outcome.get() {
            return outcome.clone();
        }
        let (changes, outcomes) =
            std::mem::take(&mut *self.waiting.lock().expect("no thread panics while it holds this lock"));
        let applied = apply(changes);
        for outcome in outcomes {
            let _ = outcome.set(applied.clone());
        }
        applied
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, mpsc};

    fn put(key: u8) -> Change {
        Change::Rows(vec![RowChange::put(vec![key], vec![key])])
    }

    /// The keys of the changed rows.
    fn keys(changes: &[Change]) -> Vec<u8> {
        let rows = changes.iter().flat_map(|change| match change {
            Change::Rows(rows) => &rows[..],
            _ => panic!("there are none"),
        });
        rows.map(|row| row.key[0]).collect()
    }

    /// Has many callers commit while the first group is blocked. Each group ends with `ends`. Returns the keys of each
    /// group, and the results of the callers.
    fn commit_behind_one(
        many: u8,
        ends: Result<(), VaultError>,
    ) -> (Vec<Vec<u8>>, Vec<Result<(), VaultError>>) {
        let (group, applied) = (CommitGroup::default(), Mutex::new(Vec::new()));
        let apply = |changes: Vec<Change>| {
            applied.lock().unwrap().push(keys(&changes));
            ends.clone()
        };
        let all_have_entered = Barrier::new(usize::from(many) + 1);
        let (begun, has_begun) = mpsc::channel();
        let results = std::thread::scope(|scope| {
            let (group, apply, all_have_entered) = (&group, &apply, &all_have_entered);
            let first = scope.spawn(move || {
                let queued = group.enqueue(put(0));
                group.commit(queued, |changes| {
                    begun.send(()).unwrap();
                    all_have_entered.wait();
                    apply(changes)
                })
            });
            has_begun.recv().unwrap();
            let caller = |key| {
                scope.spawn(move || {
                    let queued = group.enqueue(put(key));
                    all_have_entered.wait();
                    group.commit(queued, apply)
                })
            };
            let others: Vec<_> = (1..=many).map(caller).collect();
            std::iter::once(first).chain(others).map(|caller| caller.join().unwrap()).collect()
        });
        (applied.into_inner().unwrap(), results)
    }

    #[test]
    fn what_comes_while_a_group_is_under_way_is_in_the_next_one_and_all_are_told() {
        let (mut applied, results) = commit_behind_one(16, Ok(()));
        assert!(results.len() == 17 && results.iter().all(Result::is_ok), "{results:?}");
        applied[1].sort_unstable();
        assert_eq!(applied, [vec![0], (1..=16).collect()]);
    }

    #[test]
    fn a_failure_is_told_to_everybody_in_the_group() {
        let (_, results) = commit_behind_one(8, Err(VaultError::DiskFull));
        assert!(results.iter().all(|result| matches!(result, Err(VaultError::DiskFull))), "{results:?}");
    }

    #[test]
    fn changes_are_made_in_the_order_in_which_they_came_whoever_commits_first() {
        let group = CommitGroup::default();
        let (earlier, later) = (group.enqueue(put(1)), group.enqueue(put(2)));
        let mut applied = Vec::new();
        let mut apply = |changes: Vec<Change>| {
            applied.extend(keys(&changes));
            Ok(())
        };
        group.commit(later, &mut apply).unwrap();
        group.commit(earlier, &mut apply).unwrap();
        assert_eq!(applied, [1, 2]);
    }
}
