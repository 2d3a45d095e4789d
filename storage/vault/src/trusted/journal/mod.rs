//! The journal: the changes of the trusted disk that its database does not hold yet. Every group of changes is written
//! with one write and made durable with one sync.
//!
//! | file | contents |
//! |---|---|
//! | `sector` | a sector of the file, which can be checked alone |
//! | `segments` | the parts of the file, which are used again when they are not needed |
//! | `scan` | reading the file: a torn end, and damage |
//! | `file` | writing groups to the file |
//! | `waiting` | the changes in memory that the database does not hold yet |
//!
//! The database names the file and the first group that is needed, in a [mark](JournalMark). A transaction that changes
//! the mark makes the changes up to it. So the two never disagree.

mod file;
mod scan;
mod sector;
mod segments;
#[cfg(test)]
pub(crate) mod tests;
mod waiting;

pub(super) use file::{ChangesForDatabase, JournalFile, RecordsThen};
pub(super) use waiting::WaitingChanges;

use super::commit_group::Change;
use crate::error::VaultError;
use borsh::{BorshDeserialize, BorshSerialize};

/// The mark of the journal in the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(super) struct JournalMark {
    /// The name of the file, or nothing for a backend that was given.
    pub(super) file: String,
    /// The last group that is not needed any more.
    pub(super) group: u64,
    /// The position after that group.
    pub(super) at: u64,
    /// The last group whose changes the database holds. The records of groups after `group` are only in the journal.
    pub(super) applied: u64,
}

/// A record with its number.
pub(super) type NumberedRecord = (u64, Vec<u8>);

fn damaged(what: &str) -> VaultError {
    VaultError::Damaged(format!("the file of its journal: {what}").into())
}

/// Takes the records out of the changes of a group.
fn take_records(changes: Vec<Change>) -> (Vec<NumberedRecord>, Vec<Change>) {
    let mut records = Vec::new();
    let others = changes.into_iter().filter_map(|change| match change {
        Change::Records(some) => {
            records.extend(some);
            None
        }
        Change::RecordsWithNote { records: some, name, note, logged } => {
            records.extend(some);
            Some(Change::RecordsWithNote { records: Vec::new(), name, note, logged })
        }
        rows => Some(rows),
    });
    let others = others.collect();
    (records, others)
}
