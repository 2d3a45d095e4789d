//! The words that a checkpoint changes, as runs of neighbours.

use super::word_tables::WordTables;
use borsh::{BorshDeserialize, BorshSerialize};
use std::ops::Range;

/// Neighbouring words with their new values.
#[derive(Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
struct Run {
    first: u64,
    words: Vec<u32>,
}

/// Changed words.
#[derive(Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Delta {
    runs: Vec<Run>,
}

impl Delta {
    /// Adds words that follow all others.
    pub(crate) fn push(&mut self, first: u64, words: &[u32]) {
        match self.runs.last_mut() {
            Some(last) if last.first + last.words.len() as u64 == first => {
                last.words.extend_from_slice(words)
            }
            _ => self.runs.push(Run { first, words: words.to_vec() }),
        }
    }

    /// The words of each run.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.runs.iter().map(|run| run.first..run.first.saturating_add(run.words.len() as u64))
    }

    /// Applies the delta. Returns `false` if it contains a word outside of the tables.
    #[must_use]
    pub(crate) fn apply_all(&self, tables: &mut WordTables) -> bool {
        self.runs.iter().all(|run| tables.set(run.first, &run.words))
    }

    /// Applies the delta to the words of pieces for which `is_older` holds. Returns `false` if it contains a word
    /// outside of the tables.
    #[must_use]
    pub(crate) fn apply(
        &self,
        tables: &mut WordTables,
        piece_words: u64,
        is_older: impl Fn(u64) -> bool,
    ) -> bool {
        self.runs.iter().all(|run| {
            let mut at = run.first;
            let mut words = &run.words[..];
            while !words.is_empty() {
                let piece = at / piece_words;
                let here = words.len().min(((piece + 1) * piece_words - at) as usize);
                let (now, later) = words.split_at(here);
                if is_older(piece) && !tables.set(at, now) {
                    return false;
                }
                (at, words) = (at + here as u64, later);
            }
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pieces_that_are_older_take_a_change_over() {
        let mut delta = Delta::default();
        delta.push(1, &[7, 8]);
        delta.push(3, &[9, 10]);
        delta.push(6, &[11]);
        assert_eq!(delta.runs.len(), 2, "neighbours are one run");
        let mut tables = WordTables::zeros(&[5, 3]);
        assert!(delta.apply(&mut tables, 4, |piece| piece == 0));
        assert_eq!(tables.into_inner().concat(), [0, 7, 8, 9, 0, 0, 0, 0]);
        let mut tables = WordTables::zeros(&[5, 3]);
        assert!(delta.apply(&mut tables, 4, |_| true));
        delta.push(8, &[1]);
        assert!(!delta.apply(&mut tables, 4, |_| true), "there is no ninth word");
        assert_eq!(tables.into_inner().concat(), [0, 7, 8, 9, 10, 0, 11, 0]);
    }
}
