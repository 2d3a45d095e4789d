//! The tables of the trusted state in the database.

use redb::TableDefinition;

/// A value by a number, in pieces.
pub(super) type Numbered = TableDefinition<'static, (u64, u32), &'static [u8]>;

/// The pieces of words, each behind the number of its checkpoint.
pub(super) const WORDS: Numbered = TableDefinition::new("words");
/// The deltas, by checkpoint.
pub(super) const DELTAS: Numbered = TableDefinition::new("deltas");
/// The versions that were replaced, by the checkpoint after which they were.
pub(super) const GARBAGE: Numbered = TableDefinition::new("garbage");
/// The summary, under 0.
pub(super) const SUMMARY: Numbered = TableDefinition::new("summary");

/// A table of the state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StateTable {
    Words,
    Deltas,
    Garbage,
    Summary,
}

impl StateTable {
    /// All of them.
    pub(super) const ALL: [StateTable; 4] =
        [StateTable::Words, StateTable::Deltas, StateTable::Garbage, StateTable::Summary];

    /// The table that holds it.
    pub(super) fn table(self) -> Numbered {
        match self {
            StateTable::Words => WORDS,
            StateTable::Deltas => DELTAS,
            StateTable::Garbage => GARBAGE,
            StateTable::Summary => SUMMARY,
        }
    }
}
