//! The rows for changes of the catalogue, and the accounts for which they count.

use super::key::RowKey;
#[cfg(test)]
use crate::catalogue::row_shares::RowShares;
use crate::catalogue::row_shares::{RowGrowth, row_bytes};
use crate::catalogue::{Catalogue, Change, PlannedChanges, Upload, UploadId};
use crate::device::RowChange;
use std::collections::BTreeMap;

/// The rows of changes.
#[derive(Debug)]
pub(crate) struct ChangedRows {
    /// The rows to commit.
    pub(crate) new_rows: Vec<RowChange>,
    /// The rows that undo them.
    pub(crate) old_rows: Vec<RowChange>,
    /// The changes, with their other effects.
    pub(crate) planned: PlannedChanges,
}

impl Catalogue {
    /// Determines the rows and the other effects of changes.
    pub(crate) fn plan(&self, changes: Vec<Change>) -> ChangedRows {
        let fragments = self.fragment_changes(&changes);
        let rows = self.changed_rows(&changes, &fragments).into_iter();
        let rows: Vec<_> = rows
            .map(|(key, value)| {
                let (new_rows, old_rows) = ((key.bytes(), value), (key.bytes(), self.row(&key)));
                (key, new_rows, old_rows)
            })
            .collect();
        let growth = self.row_growth(&changes, &rows);
        let (new_rows, old_rows) =
            rows.into_iter().map(|(_, new_rows, old_rows)| (new_rows, old_rows)).unzip();
        ChangedRows { new_rows, old_rows, planned: PlannedChanges { changes, fragments, growth } }
    }

    /// Returns the growth by changed rows, from their new and old values.
    fn row_growth(&self, changes: &[Change], rows: &[(RowKey, RowChange, RowChange)]) -> RowGrowth {
        let mut growth = RowGrowth::new();
        for (key, new_rows, old_rows) in rows {
            let Some(account) = account_of(key, &self.uploads, changes) else { continue };
            let bytes = |(key, value): &RowChange| {
                value.as_ref().map_or(0, |value| row_bytes(key, value)).cast_signed()
            };
            *growth.entry(account.to_owned()).or_default() += bytes(new_rows) - bytes(old_rows);
        }
        growth
    }

    /// Returns the shares of a table of rows, counted row by row.
    #[cfg(test)]
    pub(crate) fn counted(&self, rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> RowShares {
        let mut shares = RowShares::default();
        for (key, value) in rows {
            let parsed = RowKey::parse(key).expect("a key");
            if let Some(account) = account_of(&parsed, &self.uploads, &[]) {
                shares.add(account, key, value);
            }
        }
        shares
    }
}

/// Returns the account for which a row counts.
pub(super) fn account_of<'a>(
    key: &'a RowKey,
    uploads: &'a BTreeMap<UploadId, Upload>,
    changes: &'a [Change],
) -> Option<&'a str> {
    match key {
        RowKey::Format | RowKey::Account(_) | RowKey::Fragment(_) => None,
        RowKey::Container(account, _) => Some(account),
        RowKey::Object(name) | RowKey::Version(name, _) => Some(&name.account),
        RowKey::Upload(id) | RowKey::Part(id, _) => {
            let started = changes.iter().find_map(|change| match change {
                Change::SetUpload { id: new, upload: Some(upload) } if new == id => Some(&**upload),
                _ => None,
            });
            uploads.get(id).or(started).map(|upload| upload.account.as_str())
        }
    }
}
