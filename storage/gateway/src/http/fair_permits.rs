//! Permits that accounts share, so that none of them gets all.
//!
//! An account with permits gets another one only if the permits that are free afterwards are at least a third of its
//! own. An account without a permit gets one as long as one is free.

use crate::fair_share::leaves_room;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A set of permits. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct FairPermits {
    table: Arc<Mutex<Table>>,
}

#[derive(Debug)]
struct Table {
    free: usize,
    held: BTreeMap<Arc<str>, usize>,
}

/// A permit, which is free again when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    permits: FairPermits,
    account: Arc<str>,
}

impl FairPermits {
    /// Creates this many permits, at least one.
    pub(crate) fn new(permits: usize) -> Self {
        let table = Table { free: permits.max(1), held: BTreeMap::new() };
        FairPermits { table: Arc::new(Mutex::new(table)) }
    }

    /// Takes a permit for an account, if it may have one.
    pub(crate) fn take(&self, account: &Arc<str>) -> Option<Permit> {
        let mut table = self.table.lock();
        let held = table.held.get(account).copied().unwrap_or(0);
        let free = table.free.checked_sub(1)?;
        if held > 0 && !leaves_room(held as u64 + 1, free as u64) {
            return None;
        }
        table.free = free;
        table.held.insert(Arc::clone(account), held + 1);
        Some(Permit { permits: self.clone(), account: Arc::clone(account) })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut table = self.permits.table.lock();
        table.free += 1;
        match table.held.get_mut(&self.account) {
            Some(held) if *held > 1 => *held -= 1,
            _ => drop(table.held.remove(&self.account)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_all(permits: &FairPermits, account: &str) -> Vec<Permit> {
        let account = account.into();
        std::iter::from_fn(|| permits.take(&account)).collect()
    }

    #[test]
    fn an_account_takes_three_quarters_and_leaves_room_for_the_next() {
        let fair_permits = FairPermits::new(128);
        let permits: Vec<_> =
            ["a", "b", "c", "d", "e"].iter().map(|account| take_all(&fair_permits, account)).collect();
        let counts: Vec<usize> = permits.iter().map(Vec::len).collect();
        assert_eq!(counts, [96, 24, 6, 1, 1]);
        drop(permits);
        assert_eq!(take_all(&fair_permits, "f").len(), 96, "they came back");
        assert!(fair_permits.table.lock().held.is_empty());
    }

    #[test]
    fn the_last_place_is_of_an_account_that_has_none() {
        for permits in 1..200 {
            let fair_permits = FairPermits::new(permits);
            let held = take_all(&fair_permits, "a");
            assert!(held.len() < permits || permits == 1, "{permits}");
            assert_eq!(fair_permits.take(&"b".into()).is_some(), permits > 1, "{permits}");
        }
    }
}
