//! The states that the table of rows may have: the committed changes, and perhaps one more commit whose end nobody saw.

use super::registers::Tick;
use ameles_vault::{Row, RowChange};
use bytes::Bytes;
use std::collections::BTreeMap;

type Table = BTreeMap<Bytes, Bytes>;

/// The table, and its earlier states.
pub struct RowsModel {
    table: Table,
    /// The tables that it may be if a commit had its effect although it failed.
    instead: Vec<Table>,
    /// Every earlier state, and when it began.
    past: Vec<(Tick, Table)>,
    max: u64,
}

impl RowsModel {
    pub fn new(max: u64) -> Self {
        RowsModel { table: Table::new(), instead: Vec::new(), past: vec![(0, Table::new())], max }
    }

    fn after(&self, changes: &[RowChange]) -> Table {
        let mut table = self.table.clone();
        for RowChange { key, value } in changes {
            match value {
                Some(value) => table.insert(key.clone(), value.clone()),
                None => table.remove(key),
            };
        }
        table
    }

    /// Returns the number of bytes that the table takes.
    pub fn used(&self) -> u64 {
        used(&self.table)
    }

    /// Returns whether the state of the table is known.
    pub fn is_certain(&self) -> bool {
        self.instead.is_empty()
    }

    /// Returns whether these changes fit.
    pub fn fits(&self, changes: &[RowChange]) -> bool {
        let needed = used(&self.after(changes));
        needed <= self.max || needed <= self.used()
    }

    pub fn committed(&mut self, changes: &[RowChange], now: Tick) {
        assert!(self.is_certain(), "a commit succeeded after one that broke the disk");
        self.table = self.after(changes);
        self.past.push((now, self.table.clone()));
    }

    pub fn failed(&mut self, changes: &[RowChange]) {
        let instead = self.after(changes);
        self.instead.push(instead);
    }

    /// Checks the table that was read.
    ///
    /// # Panics
    /// If the table is in none of its possible states.
    pub fn read(&self, rows: Vec<Row>) -> Table {
        assert!(rows.is_sorted(), "rows come sorted by key");
        let found: Table = table(rows);
        assert!(
            found == self.table || self.instead.contains(&found),
            "rows are {found:?}; {:?} was committed, and {:?} may have been",
            self.table,
            self.instead
        );
        found
    }

    /// Checks the table when it is first read after the vault was opened. A commit that failed before has had its
    /// effect by now, or never will.
    ///
    /// # Panics
    /// Like [`read`](Self::read).
    pub fn settle(&mut self, rows: Vec<Row>, now: Tick) {
        let found = self.read(rows);
        self.instead.clear();
        if found != self.table {
            self.table = found;
            self.past.push((now, self.table.clone()));
        }
    }

    /// Checks a copy that was read, as the table was at some time since `from`.
    ///
    /// # Panics
    /// If the table was never equal to the copy since `from`.
    pub fn read_copy(&self, rows: Vec<Row>, from: Tick) {
        let found: Table = table(rows);
        let ends = self.past.iter().skip(1).map(|(began, _)| *began).chain([Tick::MAX]);
        let was = self.past.iter().zip(ends).any(|((_, table), end)| end >= from && *table == found);
        assert!(was || self.instead.contains(&found), "rows were never {found:?} since {from}");
    }
}

fn table(rows: Vec<Row>) -> Table {
    rows.into_iter().map(|row| (row.key, row.value)).collect()
}

fn used(table: &Table) -> u64 {
    table.iter().map(|(key, value)| (key.len() + value.len()) as u64 + 8).sum()
}
