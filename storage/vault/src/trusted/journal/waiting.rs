//! The changes in memory that only the journal holds: those of rows and notes, in order. A transaction of the database
//! makes them, and readers of the database see them before that.

use crate::trusted::commit_group::Change;
use crate::trusted::row::RowChange;
use crate::trusted::unlogged_commits::CommitId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Changes with the numbers of their groups.
#[derive(Clone, Debug, Default)]
pub(in crate::trusted) struct WaitingChanges {
    changes: Vec<(u64, Arc<Change>)>,
    bytes: u64,
}

impl WaitingChanges {
    /// Adds the changes of a group.
    pub(super) fn push(&mut self, group: u64, changes: Vec<Change>) {
        self.bytes += changes.iter().map(Change::bytes).sum::<u64>();
        self.changes.extend(changes.into_iter().map(|change| (group, Arc::new(change))));
    }

    /// Drops the changes of the groups up to this one.
    pub(super) fn drop_up_to(&mut self, group: u64) {
        let count = self.changes.partition_point(|(of, _)| *of <= group);
        self.bytes -= self.changes.drain(..count).map(|(_, change)| change.bytes()).sum::<u64>();
    }

    /// The number of bytes of the changes.
    pub(in crate::trusted) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The changes of the groups after this one, in order.
    pub(in crate::trusted) fn after(&self, group: u64) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |(of, _)| *of > group).map(|(_, change)| &**change)
    }

    /// The last note of this name in the groups after this one.
    pub(in crate::trusted) fn note(&self, name: &str, group: u64) -> Option<Vec<u8>> {
        let notes = self.after(group).filter_map(|change| match change {
            Change::RecordsWithNote { name: of, note, .. } if of == name => Some(note.clone()),
            _ => None,
        });
        notes.last()
    }

    /// The changes of rows after this group, by the hashes of their keys: the last sealed row of each, or `None`.
    pub(in crate::trusted) fn changed_rows(&self, group: u64) -> BTreeMap<&[u8], Option<&[u8]>> {
        let mut changed = BTreeMap::new();
        for change in self.after(group) {
            let rows = match change {
                Change::Rows(rows) | Change::RowsWithCommit { changes: rows, .. } => &rows[..],
                Change::Records(_) | Change::RecordsWithNote { .. } => &[],
            };
            changed.extend(rows.iter().map(|RowChange { key, value }| (&**key, value.as_deref())));
        }
        changed
    }

    /// The commits of the database that the journal in the store may not hold, with the changes after this group.
    pub(in crate::trusted) fn change_commits(
        &self,
        group: u64,
        mut commits: Vec<(CommitId, Vec<u8>)>,
    ) -> Vec<(CommitId, Vec<u8>)> {
        for change in self.after(group) {
            let (commit, logged) = match change {
                Change::RowsWithCommit { commit, logged, .. } => (commit.as_ref(), *logged),
                Change::RecordsWithNote { logged, .. } => (None, *logged),
                Change::Rows(_) | Change::Records(_) => continue,
            };
            commits.retain(|(id, _)| *id > logged);
            commits.extend(commit.cloned());
        }
        commits
    }
}
