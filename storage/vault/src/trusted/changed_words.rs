//! The words that changed since a checkpoint: a bit for each word of the scheme and of the versions.

use std::ops::Range;

/// The words that may have changed after the checkpoint of a number. Secret.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedWords {
    /// Every word that changed after this checkpoint is in the set.
    pub(crate) since: u64,
    bits: Vec<u64>,
}

impl ChangedWords {
    /// The empty set.
    pub(crate) fn since(since: u64) -> Self {
        ChangedWords { since, bits: Vec::new() }
    }

    /// Adds neighbouring words.
    pub(crate) fn insert(&mut self, words: Range<u64>) {
        for word in words {
            let at = (word / 64) as usize;
            if at >= self.bits.len() {
                self.bits.resize(at + 1, 0);
            }
            self.bits[at] |= 1 << (word % 64);
        }
    }

    /// The words below `end`, as runs of neighbours in ascending order.
    pub(crate) fn runs(&self, end: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let first = self.next(next, end, true)?;
            next = self.next(first, end, false).unwrap_or(end);
            Some(first..next)
        })
    }

    /// The first word from `from` on that is in the set, or is not.
    fn next(&self, from: u64, end: u64, is_in: bool) -> Option<u64> {
        let mut at = from;
        while at < end {
            let bits = self.bits.get((at / 64) as usize).copied().unwrap_or(0);
            let sought = (if is_in { bits } else { !bits }) >> (at % 64);
            if sought != 0 {
                let found = at + u64::from(sought.trailing_zeros());
                return Some(found).filter(|found| *found < end);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn runs_are_the_words_that_were_added(
            added in prop::collection::vec((0u64..300, 0u64..90), 0..12),
            end in 1u64..420,
        ) {
            let mut words = ChangedWords::since(3);
            let mut expected = BTreeSet::new();
            for (first, count) in added {
                words.insert(first..first + count);
                expected.extend(first..first + count);
            }
            let runs: Vec<_> = words.runs(end).collect();
            prop_assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start), "{:?}", runs);
            let found: BTreeSet<u64> = runs.into_iter().flatten().collect();
            prop_assert_eq!(found, expected.range(..end).copied().collect::<BTreeSet<u64>>());
        }
    }
}
