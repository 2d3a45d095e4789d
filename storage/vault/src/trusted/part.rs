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
pub(crate) enum Part {
    Words,
    Deltas,
    Garbage,
    Summary,
}

impl Part {
    /// All of them.
    pub(super) const ALL: [Part; 4] = [Part::Words, Part::Deltas, Part::Garbage, Part::Summary];

    /// The table that holds it.
    pub(super) fn table(self) -> Numbered {
        match self {
            Part::Words => WORDS,
            Part::Deltas => DELTAS,
            Part::Garbage => GARBAGE,
            Part::Summary => SUMMARY,
        }
    }
}
