//! The words of a trusted state in memory, as consecutive tables: those of the scheme, the versions of buckets, the
//! slots of the stash.

/// Tables of words. A word is addressed by its index in the concatenation of all tables.
pub(crate) struct WordTables {
    tables: Vec<Vec<u32>>,
}

impl WordTables {
    /// Tables of these sizes, all zeros.
    pub(crate) fn zeros(sizes: &[u64]) -> Self {
        WordTables { tables: sizes.iter().map(|size| vec![0; *size as usize]).collect() }
    }

    /// The number of words in all tables.
    pub(crate) fn len(&self) -> u64 {
        self.tables.iter().map(|table| table.len() as u64).sum()
    }

    /// Sets a range of words. Returns `false`, and changes nothing, if it lies outside of the tables.
    #[must_use]
    pub(crate) fn set(&mut self, first: u64, mut words: &[u32]) -> bool {
        let end = first.checked_add(words.len() as u64);
        if end.is_none_or(|end| end > self.len()) {
            return false;
        }
        let mut before = 0;
        for table in &mut self.tables {
            let len = table.len() as u64;
            let at = (first.max(before) - before).min(len);
            let here = words.len().min((len - at) as usize);
            if first < before + len {
                let (now, later) = words.split_at(here);
                table[at as usize..at as usize + here].copy_from_slice(now);
                words = later;
            }
            before += len;
        }
        true
    }

    /// Takes the last table.
    pub(crate) fn take_last(&mut self) -> Vec<u32> {
        self.tables.pop().unwrap_or_default()
    }

    /// The remaining tables.
    pub(crate) fn into_inner(self) -> Vec<Vec<u32>> {
        self.tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tables_are_one_row_of_words(
            sizes in prop::collection::vec(0u64..5, 0..6), first in 0u64..30, words: Vec<u32>,
        ) {
            let mut tables = WordTables::zeros(&sizes);
            let mut row = vec![0; tables.len() as usize];
            let fits = first as usize + words.len() <= row.len();
            prop_assert_eq!(tables.set(first, &words), fits);
            if fits {
                row[first as usize..first as usize + words.len()].copy_from_slice(&words);
            }
            prop_assert_eq!(tables.into_inner().concat(), row);
        }
    }
}
