//! The place of each bucket among the words of a tree.

use ameles_core::types::Level;
use std::ops::Range;

/// Words of a page. The buckets of a path are far apart; in subtrees of a page each, a path needs a few pages.
const PAGE_WORDS: usize = 4096 / size_of::<u64>();

/// The places of the buckets. The levels are divided into groups, from the leaves upwards, and each group into subtrees
/// that fit into a page.
#[derive(Clone, Debug)]
pub(super) struct BucketPlaces {
    top: u32,
    /// The levels from the top on.
    levels: Vec<LevelPlace>,
    /// Words of each group, the leaves' first.
    groups: Vec<usize>,
}

/// The place of a level's buckets.
#[derive(Clone, Copy, Debug)]
struct LevelPlace {
    /// Z.
    size: u32,
    /// The level's depth below the roots of its subtrees.
    depth: u32,
    /// The number of words of a subtree.
    subtree_words: usize,
    /// The word of the first subtree's first bucket of this level.
    first: usize,
    group: usize,
}

impl BucketPlaces {
    /// The places of buckets: `sizes` are Z by level, the root's side first, for the levels from `top` on.
    pub(super) fn new(top: Level, sizes: &[u32]) -> Self {
        let (mut levels, mut groups, mut words) = (Vec::new(), Vec::new(), 0);
        let mut end = sizes.len();
        while end > 0 {
            let words_of = |begin: usize| -> usize {
                (0..).zip(&sizes[begin..end]).map(|(depth, size)| (*size as usize) << depth).sum()
            };
            let begin =
                (0..end).rev().take_while(|begin| words_of(*begin) <= PAGE_WORDS).last().unwrap_or(end - 1);
            let (subtree_words, mut first) = (words_of(begin), words);
            let mut of_group = Vec::new();
            for (depth, size) in (0..).zip(sizes[begin..end].iter().copied()) {
                of_group.push(LevelPlace { size, depth, subtree_words, first, group: groups.len() });
                first += (size as usize) << depth;
            }
            levels.splice(0..0, of_group);
            groups.push(subtree_words << (top.0 as usize + begin));
            words += groups[groups.len() - 1];
            end = begin;
        }
        BucketPlaces { top: top.0, levels, groups }
    }

    /// The first level.
    pub(super) fn top(&self) -> Level {
        Level(self.top)
    }

    /// The level of the leaves.
    #[inline]
    pub(super) fn leaf_level(&self) -> Level {
        Level(self.top + self.levels.len() as u32 - 1)
    }

    /// All words.
    pub(super) fn words(&self) -> usize {
        self.groups.iter().sum()
    }

    /// Words of each group of levels, in the order of their places. Those below the first bucket of the top level come
    /// first, then those below the next, and so on.
    pub(super) fn groups(&self) -> impl Iterator<Item = usize> {
        self.groups.iter().copied()
    }

    /// The group of a level.
    #[inline]
    pub(super) fn group(&self, level: u32) -> usize {
        self.levels[(level - self.top) as usize].group
    }

    /// Z of a level.
    #[inline]
    pub(super) fn size(&self, level: u32) -> u32 {
        self.levels[(level - self.top) as usize].size
    }

    /// The words of a bucket: the one at `index` from the left of a level.
    #[inline]
    pub(super) fn range(&self, level: u32, index: u64) -> Range<usize> {
        let LevelPlace { size, depth, subtree_words, first, .. } = self.levels[(level - self.top) as usize];
        let (subtree, in_subtree) = (index as usize >> depth, index as usize & ((1 << depth) - 1));
        let start = first + subtree * subtree_words + in_subtree * size as usize;
        start..start + size as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_of_one_bucket_whatever_the_sizes() {
        let mixed: Vec<u32> = (0..15).map(|level| [4, 1, 3, 2][level % 4]).collect();
        for (top, sizes) in [(0, &mixed[..]), (3, &mixed[..9]), (2, &[600, 1, 700]), (5, &[4])] {
            let places = BucketPlaces::new(Level(top), sizes);
            let mut owners = vec![0; places.words()];
            for level in top..=places.leaf_level().0 {
                for index in 0..1 << level {
                    let range = places.range(level, index);
                    assert_eq!(range.len() as u32, sizes[(level - top) as usize]);
                    owners[range].iter_mut().for_each(|owner| *owner += 1);
                }
            }
            assert!(owners.iter().all(|owner| *owner == 1), "{sizes:?} from level {top}");
        }
    }

    #[test]
    fn a_path_needs_three_pages_for_nineteen_levels() {
        let places = BucketPlaces::new(Level(6), &[4; 19]);
        let pages: std::collections::BTreeSet<usize> =
            (6..25).map(|level| places.range(level, 777_777 >> (24 - level)).start / 508).collect();
        assert_eq!(pages.len(), 3);
    }
}
