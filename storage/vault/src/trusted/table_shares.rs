//! The shares of words and rows that a checkpoint in the store sends: changes since the last one, and a part of the table in turn.
//! The numbers of bytes follow from the parameters and the number of accesses.

use super::header::VaultParameters;

/// The number of turns of the smallest size that go through a table.
const TURNS: u64 = 64;
/// The number of bytes of words in turn for each access: about as many as an access changes.
const WORDS_AN_ACCESS: u64 = 128;
/// The number of bytes for changes of rows: for each access, and for each checkpoint besides a part of the table.
const ROWS_AN_ACCESS: u64 = 512;
const ROWS_A_CHECKPOINT: u64 = 2048;
const ROWS_PART: u64 = 128;

/// The bytes that a checkpoint sends of a table. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableShare {
    /// The room for changes.
    pub(crate) changes: u64,
    /// The bytes in turn: the whole table if that is not more.
    pub(crate) turn: u64,
    /// The bytes of the whole table.
    pub(crate) all: u64,
}

impl TableShare {
    fn new(changes: u64, turn: u64, all: u64) -> Self {
        let share = TableShare { changes, turn, all };
        if share.bytes() < all { share } else { share.whole() }
    }

    /// The share that is the whole table.
    pub(crate) fn whole(self) -> Self {
        TableShare { changes: 0, turn: self.all, all: self.all }
    }

    /// Returns whether the share is the whole table, which needs nothing that was sent before.
    pub(crate) fn is_whole(self) -> bool {
        self.turn == self.all
    }

    /// The number of bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.changes.saturating_add(self.turn)
    }
}

impl VaultParameters {
    /// The number of words of the scheme and of the versions.
    pub(crate) fn words(&self) -> u64 {
        self.word_tables().iter().sum()
    }

    /// The words that a checkpoint sends this many accesses after the last one.
    pub(crate) fn words_share(&self, accesses: u64) -> TableShare {
        let (scheme, all) = (&self.scheme, 4 * self.words());
        let changes = scheme.max_delta_bytes(accesses, scheme.max_rewritten(accesses));
        let turn = all.div_ceil(TURNS).max(accesses.saturating_mul(WORDS_AN_ACCESS));
        TableShare::new(changes, turn.min(all).next_multiple_of(4), all)
    }

    /// The rows that a checkpoint sends this many accesses after the last one.
    pub(crate) fn rows_share(&self, accesses: u64) -> TableShare {
        let accessed = accesses.saturating_mul(ROWS_AN_ACCESS);
        let changes = accessed.saturating_add(ROWS_A_CHECKPOINT + self.rows_bytes / ROWS_PART);
        TableShare::new(changes, self.rows_bytes.div_ceil(TURNS).max(changes / 2), self.rows_bytes)
    }
}
