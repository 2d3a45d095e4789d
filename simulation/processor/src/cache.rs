//! The last-level cache: set-associative, written back, least recently used first out.

use crate::units::{LINE_BYTES, Line};

/// A cache. Sets are chosen by the low bits of a line.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The lines of each set, the most recently used first.
    lines: Vec<Entry>,
    ways: usize,
    sets: u64,
    /// The line that was written last.
    written: Option<Line>,
}

/// A line of the cache and whether it is dirty, in a word; 0 is an empty place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry(u64);

impl Entry {
    fn new(line: Line, is_dirty: bool) -> Self {
        Entry((line.0 + 1) << 1 | u64::from(is_dirty))
    }

    fn line(self) -> Option<Line> {
        (self.0 >> 1).checked_sub(1).map(Line)
    }

    fn is_dirty(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The reason why a cache cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the number of sets of a cache of {bytes} bytes with {ways} ways is not a power of two: choose for example 2 MiB and 8 ways"
)]
pub struct CacheShape {
    /// Bytes of the cache.
    pub bytes: u64,
    /// The number of lines of a set.
    pub ways: usize,
}

/// An access of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheAccess {
    /// True if the line was there.
    pub is_hit: bool,
    /// The evicted line.
    pub victim: Option<Victim>,
}

/// A line that had to leave the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The line.
    pub line: Line,
    /// True if the memory does not have its contents.
    pub is_dirty: bool,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Errors
    /// [`CacheShape`], if the number of sets is not a power of two.
    pub fn new(bytes: u64, ways: usize) -> Result<Self, CacheShape> {
        let set_bytes = ways as u64 * LINE_BYTES;
        let sets = bytes.checked_div(set_bytes).unwrap_or(0);
        if !sets.is_power_of_two() || sets * set_bytes != bytes {
            return Err(CacheShape { bytes, ways });
        }
        Ok(Cache { lines: vec![Entry::default(); sets as usize * ways], ways, sets, written: None })
    }

    /// The number of sets.
    pub fn sets(&self) -> u64 {
        self.sets
    }

    /// The cached lines and whether they are dirty: those of each set in the order of eviction.
    pub fn lines(&self) -> impl Iterator<Item = (Line, bool)> {
        let place = |rank: usize| self.lines.iter().skip(rank).step_by(self.ways);
        let entries = (0..self.ways).rev().flat_map(place);
        entries.filter_map(|entry| Some((entry.line()?, entry.is_dirty())))
    }

    /// Accesses a line, which is the most recently used one of its set from then on.
    pub fn access(&mut self, line: Line, writes: bool) -> CacheAccess {
        if writes {
            self.written = Some(line);
        }
        let set = self.set_mut(line);
        if let Some(place) = set.iter().position(|entry| entry.line() == Some(line)) {
            let entry = Entry::new(line, set[place].is_dirty() || writes);
            set.copy_within(..place, 1);
            set[0] = entry;
            return CacheAccess { is_hit: true, victim: None };
        }
        let last = set[set.len() - 1];
        set.copy_within(..set.len() - 1, 1);
        set[0] = Entry::new(line, writes);
        let victim = last.line().map(|line| Victim { line, is_dirty: last.is_dirty() });
        CacheAccess { is_hit: false, victim }
    }

    /// The line of a set that is evicted next, if the set is full.
    pub fn next_victim(&self, set: u64) -> Option<Line> {
        self.last(set).line()
    }

    /// The line of a set that is evicted next, if it is dirty.
    pub fn dirty_victim(&self, set: u64) -> Option<Line> {
        let victim = self.last(set);
        victim.line().filter(|_| victim.is_dirty())
    }

    /// The line that was written last, if it is there and dirty.
    pub fn last_written(&self) -> Option<Line> {
        let line = self.written?;
        let set = self.set_of(line) as usize * self.ways;
        let entry = self.lines[set..set + self.ways].iter().find(|entry| entry.line() == Some(line))?;
        entry.is_dirty().then_some(line)
    }

    /// The set of a line.
    pub fn set_of(&self, line: Line) -> u64 {
        line.0 & (self.sets - 1)
    }

    fn last(&self, set: u64) -> Entry {
        self.lines[(set as usize + 1) * self.ways - 1]
    }

    /// Makes a line clean, if it is there: it was written back early.
    pub fn clean(&mut self, line: Line) {
        let set = self.set_mut(line);
        if let Some(entry) = set.iter_mut().find(|entry| entry.line() == Some(line)) {
            *entry = Entry::new(line, false);
        }
    }

    fn set_mut(&mut self, line: Line) -> &mut [Entry] {
        let set = self.set_of(line) as usize;
        &mut self.lines[set * self.ways..][..self.ways]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ways, four sets.
    fn cache() -> Cache {
        Cache::new(512, 2).unwrap()
    }

    #[test]
    fn the_least_recently_used_line_of_a_set_goes_first() {
        let mut cache = cache();
        let mut misses = |line| !cache.access(Line(line), false).is_hit;
        assert!([0, 4, 0, 1].map(&mut misses) == [true, true, false, true]);
        // 8 replaces 4, which was used before 0.
        assert_eq!([8, 0, 4].map(misses), [true, false, true]);
    }

    #[test]
    fn a_line_that_goes_is_dirty_if_it_was_written() {
        let mut cache = cache();
        cache.access(Line(0), true);
        cache.access(Line(4), false);
        assert_eq!((cache.dirty_victim(0), cache.set_of(Line(9))), (Some(Line(0)), 1));
        assert_eq!([0, 1].map(|set| cache.next_victim(set)), [Some(Line(0)), None]);
        assert_eq!(cache.access(Line(8), false).victim, Some(Victim { line: Line(0), is_dirty: true }));
        assert_eq!(cache.dirty_victim(0), None);
        assert_eq!(cache.access(Line(12), false).victim, Some(Victim { line: Line(4), is_dirty: false }));
    }

    #[test]
    fn a_line_that_was_written_back_early_goes_clean() {
        let mut cache = cache();
        cache.access(Line(0), true);
        cache.access(Line(4), false);
        cache.clean(Line(0));
        assert_eq!(cache.access(Line(8), false).victim, Some(Victim { line: Line(0), is_dirty: false }));
        cache.clean(Line(100));
        assert_eq!(cache.last_written(), None, "it left");
        cache.access(Line(4), true);
        assert_eq!(cache.last_written(), Some(Line(4)));
        cache.access(Line(8), false);
        assert_eq!(cache.dirty_victim(0), Some(Line(4)), "a write makes it dirty again");
    }

    #[test]
    fn a_cache_that_takes_the_lines_of_another_goes_on_as_it_does() {
        let mut cache = cache();
        for nth in 0..50u64 {
            cache.access(Line(nth * 7 % 23), nth % 3 == 0);
        }
        let mut other = self::cache();
        for (line, is_dirty) in cache.lines() {
            other.access(line, is_dirty);
        }
        assert_eq!((other.lines, cache.lines().count()), (cache.lines, 8));
        assert_eq!(self::cache().lines().count(), 0);
    }

    #[test]
    fn a_shape_without_whole_sets_is_refused() {
        for (bytes, ways) in [(0, 8), (100, 1), (512 * 3, 8), (1 << 20, 0)] {
            assert_eq!(Cache::new(bytes, ways).unwrap_err(), CacheShape { bytes, ways });
        }
        assert_eq!(Cache::new(2 << 20, 8).unwrap().sets(), 4096);
    }
}
