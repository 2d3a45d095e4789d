//! A row of a table, and a change of a row.

use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;

/// A row: a key and a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct Row {
    /// The key.
    pub key: Bytes,
    /// The value.
    pub value: Bytes,
}

/// A change of a row: its key, and its new value or none.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RowChange {
    /// The key.
    pub key: Bytes,
    /// The new value; `None` removes the row.
    pub value: Option<Bytes>,
}

impl Row {
    /// Makes a row.
    pub fn new(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Row { key: key.into(), value: value.into() }
    }
}

impl RowChange {
    /// Inserts a row, or replaces the one with this key.
    pub fn put(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        RowChange { key: key.into(), value: Some(value.into()) }
    }

    /// Removes the row with this key, if there is one.
    pub fn remove(key: impl Into<Bytes>) -> Self {
        RowChange { key: key.into(), value: None }
    }
}

impl From<Row> for RowChange {
    fn from(row: Row) -> Self {
        RowChange { key: row.key, value: Some(row.value) }
    }
}
