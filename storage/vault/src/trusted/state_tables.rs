//! The tables of the trusted state in the database.

use redb::TableDefinition;

/// A table of numbered values in pieces.
pub(super) type Numbered = TableDefinition<'static, (u64, u32), &'static [u8]>;

/// The pieces of words, each after the number of its checkpoint.
pub(super) const WORDS: Numbered = TableDefinition::new("words");
/// The deltas, by checkpoint.
pub(super) const DELTAS: Numbered = TableDefinition::new("deltas");
/// Replaced versions, by the checkpoint after which they were replaced.
pub(super) const GARBAGE: Numbered = TableDefinition::new("garbage");
/// The summary, with number 0.
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
    /// All tables of the state.
    pub(super) const ALL: [StateTable; 4] =
        [StateTable::Words, StateTable::Deltas, StateTable::Garbage, StateTable::Summary];

    /// The database table.
    pub(super) fn table(self) -> Numbered {
        match self {
            StateTable::Words => WORDS,
            StateTable::Deltas => DELTAS,
            StateTable::Garbage => GARBAGE,
            StateTable::Summary => SUMMARY,
        }
    }
}
