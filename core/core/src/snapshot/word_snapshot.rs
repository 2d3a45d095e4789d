//! The words of a table as they were at one moment, for an owner who copies them piece by piece while they change.
//!
//! A copy at once would take as much memory as the table, and time that grows with it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

/// The words that have changed since a moment, as they were then. Words that were copied are dropped. Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordSnapshot(Option<Held>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Held {
    /// The first place whose word was not copied yet.
    copied: u64,
    words: BTreeMap<u64, u32>,
}

impl WordSnapshot {
    /// Begins a snapshot of the words of this moment, and drops an earlier one.
    pub fn hold(&mut self) {
        self.0 = Some(Held::default());
    }

    /// Records that a word changes; `word` is its old value.
    pub fn record(&mut self, place: u64, word: u32) {
        if let Some(held) = &mut self.0
            && place >= held.copied
        {
            held.words.entry(place).or_insert(word);
        }
    }

    /// Records that neighbouring words change.
    pub fn record_all(&mut self, first: u64, words: &[u32]) {
        if self.0.is_some() {
            (first..).zip(words).for_each(|(place, word)| self.record(place, *word));
        }
    }

    /// Appends neighbouring words of the table as they were. The owner must request ranges in order, from the beginning
    /// of the table on. After the last word of the table the snapshot holds nothing.
    ///
    /// # Panics
    /// If the table ends before the range.
    pub fn copy(&mut self, table: &[u32], places: Range<u64>, into: &mut Vec<u32>) {
        let first = into.len();
        into.extend_from_slice(&table[places.start as usize..places.end as usize]);
        let Some(held) = &mut self.0 else { return };
        debug_assert!(places.start >= held.copied, "words are copied out once");
        for (place, word) in held.words.range(places.clone()) {
            into[first + (place - places.start) as usize] = *word;
        }
        held.copied = places.end;
        held.words = held.words.split_off(&places.end);
        if places.end == table.len() as u64 {
            self.0 = None;
        }
    }

    /// Returns the number of words that are held now.
    #[cfg(test)]
    fn kept(&self) -> usize {
        self.0.as_ref().map_or(0, |held| held.words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_table_is_copied_out_as_it_was_whatever_changes_meanwhile(
            len in 1usize..40,
            pieces in prop::collection::vec((1u64..9, prop::collection::vec((0usize..40, 0u32..9), 0..12)), 1..50),
        ) {
            let mut table: Vec<u32> = (0..len as u32).collect();
            let (was, mut held, mut copied) = (table.clone(), WordSnapshot::default(), Vec::new());
            held.hold();
            for (words, changes) in pieces {
                for (place, word) in changes.into_iter().filter(|(place, _)| *place < len) {
                    held.record(place as u64, table[place]);
                    table[place] = word;
                }
                let from = copied.len() as u64;
                held.copy(&table, from..(from + words).min(len as u64), &mut copied);
                prop_assert_eq!(&copied[..], &was[..copied.len()]);
                prop_assert!(held.kept() <= len - copied.len(), "what was copied out is not kept");
            }
        }
    }

    #[test]
    fn nothing_is_kept_before_a_moment_and_after_the_last_word() {
        let mut held = WordSnapshot::default();
        held.record(1, 7);
        held.hold();
        held.record(1, 8);
        held.record(1, 9);
        let mut copied = Vec::new();
        held.copy(&[0, 0], 0..2, &mut copied);
        assert_eq!(copied, [0, 8]);
        held.record(1, 10);
        assert_eq!(held.kept(), 0);
    }
}
