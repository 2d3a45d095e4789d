//! The space that each account takes in the table of rows, so that no account can fill it.

use crate::fair_share::leaves_room;
use std::collections::BTreeMap;

/// The largest number of bytes that a device needs for a row in addition to its key and its value.
const ROW_OVERHEAD: u64 = 64;

/// The space that accounts take in the table of rows, in bytes. An account's row of settings does not count, and
/// neither do small objects that wait to be packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowShares(BTreeMap<String, u64>);

/// The growth of each account's rows by changes, in bytes; negative where they shrink.
pub(crate) type RowGrowth = BTreeMap<String, i64>;

impl RowShares {
    /// Returns the bytes of an account's rows.
    pub(crate) fn of(&self, account: &str) -> u64 {
        self.0.get(account).copied().unwrap_or(0)
    }

    /// Adds a growth.
    pub(crate) fn grow(&mut self, growth: &RowGrowth) {
        growth.iter().for_each(|(account, bytes)| self.grow_one(account, *bytes));
    }

    /// Adds an existing row.
    pub(super) fn add(&mut self, account: &str, key: &[u8], value: &[u8]) {
        self.grow_one(account, row_bytes(key, value).cast_signed());
    }

    fn grow_one(&mut self, account: &str, bytes: i64) {
        match self.0.get_mut(account) {
            Some(current) => *current = current.saturating_add_signed(bytes),
            None => drop(self.0.insert(account.to_owned(), 0u64.saturating_add_signed(bytes))),
        }
        if self.of(account) == 0 {
            self.0.remove(account);
        }
    }

    /// Returns whether each account may grow by this much, with `free` bytes free in the table before. The device
    /// itself refuses a growth for which there is no space at all.
    pub(crate) fn allow(&self, growth: &RowGrowth, free: u64) -> bool {
        growth.iter().filter(|(_, bytes)| **bytes > 0).all(|(account, &bytes)| {
            let current = self.of(account);
            let after = free.checked_sub(bytes.unsigned_abs());
            current == 0 || after.is_none_or(|free| leaves_room(current.saturating_add_signed(bytes), free))
        })
    }
}

/// Returns the largest number of bytes that a row takes.
pub(crate) fn row_bytes(key: &[u8], value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64 + ROW_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(shares: &mut RowShares, account: &str, free: &mut u64) {
        let growth = RowGrowth::from([(account.to_owned(), 1)]);
        while *free > 0 && shares.allow(&growth, *free) {
            shares.grow(&growth);
            *free -= 1;
        }
    }

    #[test]
    fn an_account_fills_three_quarters_of_the_table_and_the_next_three_quarters_of_the_rest() {
        let (mut shares, mut free) = (RowShares::default(), 1600);
        ["a", "b", "c"].iter().for_each(|account| fill(&mut shares, account, &mut free));
        assert_eq!([shares.of("a"), shares.of("b"), shares.of("c"), free], [1200, 300, 75, 25]);
    }

    #[test]
    fn an_account_past_its_share_may_shrink_and_then_grow_again() {
        let mut shares = RowShares::default();
        shares.grow(&RowGrowth::from([("a".to_owned(), 1200)]));
        let by = |bytes| RowGrowth::from([("a".to_owned(), bytes)]);
        assert!(!shares.allow(&by(1), 100));
        assert!(shares.allow(&by(-1), 100) && shares.allow(&by(0), 100));
        shares.grow(&by(-1200));
        assert_eq!(shares, RowShares::default());
        assert!(shares.allow(&by(1), 1), "the last room is of an account that has none");
    }
}
