//! A table of words that is written as changes: it records which of its words change.

use crate::snapshot::word_snapshot::WordSnapshot;
use alloc::vec;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::ops::Range;

/// Words of 32 bits, and the places of the words that changed since the owner last asked.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct WordTable {
    words: Vec<u32>,
    /// The places, with repetitions. `None` until they are watched.
    #[borsh(skip)]
    changed: Option<Vec<u64>>,
    #[borsh(skip)]
    held: WordSnapshot,
}

impl WordTable {
    /// A table of zeros.
    pub(crate) fn zeros(words: usize) -> Self {
        WordTable::of(vec![0; words])
    }

    /// The table of these words.
    pub(crate) fn of(words: Vec<u32>) -> Self {
        WordTable { words, changed: None, held: WordSnapshot::default() }
    }

    /// Returns the word table's words.
    #[inline]
    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    /// The number of its words.
    pub(crate) fn len(&self) -> u64 {
        self.words.len() as u64
    }

    /// Returns the words of the table.
    pub(crate) fn into_words(self) -> Vec<u32> {
        self.words
    }

    /// Changes a word.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, word: u32) {
        self.held.record(place as u64, self.words[place]);
        if let Some(changed) = &mut self.changed {
            changed.push(place as u64);
        }
        self.words[place] = word;
    }

    /// Changes neighbouring words into zeros.
    pub(crate) fn clear(&mut self, places: Range<usize>) {
        self.held.record_all(places.start as u64, &self.words[places.clone()]);
        if let Some(changed) = &mut self.changed {
            changed.extend(places.start as u64..places.end as u64);
        }
        self.words[places].fill(0);
    }

    /// Begins to record changes; earlier ones are forgotten.
    pub(crate) fn track_changes(&mut self) {
        self.changed = Some(Vec::new());
    }

    /// Takes the places that changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<u64> {
        self.changed.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Begins a snapshot of the words, until they are copied.
    pub(crate) fn hold(&mut self) {
        self.held.hold();
    }

    /// Appends present words of this table. Several tables lie in a row, in which this one begins at word `before`.
    /// `words` is a range in this row.
    pub(crate) fn copy(&self, before: u64, words: &Range<u64>, into: &mut Vec<u32>) {
        let places = self.places(before, words);
        into.extend_from_slice(&self.words[places.start as usize..places.end as usize]);
    }

    /// Does the same with the words as the snapshot holds them.
    pub(crate) fn copy_held(&mut self, before: u64, words: &Range<u64>, into: &mut Vec<u32>) {
        let places = self.places(before, words);
        if !places.is_empty() {
            self.held.copy(&self.words, places, into);
        }
    }

    fn places(&self, before: u64, words: &Range<u64>) -> Range<u64> {
        let place = |word: u64| word.saturating_sub(before).min(self.words.len() as u64);
        place(words.start)..place(words.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_noted_from_the_moment_at_which_they_are_watched() {
        let mut table = WordTable::zeros(8);
        table.set(1, 5);
        assert!(table.take_changes().is_empty());
        table.track_changes();
        table.set(2, 6);
        table.clear(5..7);
        assert_eq!(table.take_changes(), [2, 5, 6]);
        assert!(table.take_changes().is_empty());
        assert_eq!(table.words(), [0, 5, 6, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_part_of_a_row_of_tables_that_lies_in_a_table_is_copied() {
        let (first, mut second) = (WordTable::of([1, 2, 3, 4].into()), WordTable::of([5, 6, 7, 8].into()));
        let mut copied = Vec::new();
        first.copy(0, &(2..7), &mut copied);
        second.copy(4, &(2..7), &mut copied);
        assert_eq!(copied, [3, 4, 5, 6, 7]);
        second.hold();
        second.set(2, 9);
        second.copy_held(4, &(4..6), &mut copied);
        second.copy_held(4, &(6..9), &mut copied);
        assert_eq!(copied, [3, 4, 5, 6, 7, 5, 6, 7, 8]);
        copied.clear();
        second.copy(4, &(6..7), &mut copied);
        assert_eq!(copied, [9]);
    }
}
