//! IR-DWB: dirty lines of the last-level cache that are written back instead of dummies. (Raoufi, Zhang, Yang,
//! "IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM", section IV-D.)
//!
//! `Ptr` points to the least recently used line of a set, if that is dirty. Each dummy does a step for it: it reads a
//! missing PosMap block, or at last writes the line. The paper's register `Stage`, the number of steps left, is what
//! the front end answers when it is asked for the next path. If the line is used or evicted in between, it is given up.
//!
//! Under delayed remapping no line of the cache is in the tree. So `Ptr` points to the least recently used line of a
//! set, dirty or clean. The steps read its PosMap blocks, and once they are on chip the line is remapped ahead. This is
//! how the paper sketches it, and leaves it to future work. The extra table that it mentions has a line and its leaf
//! for each set. With this table the line leaves the cache without a path, for any contents of the PLB.

use ameles_core::types::Leaf;
use ameles_processor::cache::Cache;
use ameles_processor::units::{Cycle, Line};
use rand_core::RngCore;

/// Cycles for which the search rests when no set had a line.
const PAUSE: u64 = 1000;

/// The choice of the line that dummies work for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyLine {
    /// The line of a set that is evicted next, if it is dirty: the paper's `Ptr`.
    #[default]
    NextVictim,
    /// The line of the cache that was written last, or another dirty one if that is evicted or clean: the authors'
    /// code. It has no stages: a line whose position is not on chip is skipped, and the dummy stays one. Under
    /// delayed remapping the choice is the paper's.
    LastWritten,
}

/// The register `Ptr`, and the state of the search.
#[derive(Debug, Default)]
pub(crate) struct EarlyWriteBack {
    choice: EarlyLine,
    pointer: Option<(u64, Line)>,
    /// The set that is searched next.
    set: u64,
    paused_until: Cycle,
    /// The line of each set that was remapped ahead, and its leaf. Only delayed remapping has them.
    remapped_lines: Option<Vec<Option<(Line, Leaf)>>>,
}

impl EarlyWriteBack {
    /// The registers of a cache, at rest.
    pub(crate) fn new(cache: &Cache, delayed_remapping: bool, choice: EarlyLine) -> Self {
        let remapped_lines = delayed_remapping.then(|| vec![None; cache.sets() as usize]);
        EarlyWriteBack { choice, remapped_lines, ..Self::default() }
    }

    /// The line that a dummy at this cycle works for. Sets are searched round-robin. `is_at_hand` returns whether the
    /// position of a line is on chip.
    pub(crate) fn line(
        &mut self,
        cache: &Cache,
        now: Cycle,
        random: &mut impl RngCore,
        is_position_available: impl Fn(Line) -> bool,
    ) -> Option<Line> {
        if self.choice == EarlyLine::LastWritten && self.remapped_lines.is_none() {
            let Some(last) = cache.last_written() else {
                let mut dirty = cache.lines().filter(|(_, is_dirty)| *is_dirty).map(|(line, _)| line);
                return dirty.find(|line| is_position_available(*line));
            };
            return is_position_available(last).then_some(last);
        }
        if let Some((set, line)) = self.pointer {
            if self.candidate(cache, set) == Some(line) {
                return Some(line);
            }
            self.pointer = None;
        }
        if now < self.paused_until {
            return None;
        }
        for _ in 0..cache.sets() {
            let set = self.set;
            self.set = (set + 1) % cache.sets();
            if let Some(line) = self.candidate(cache, set) {
                self.pointer = Some((set, line));
                return Some(line);
            }
        }
        self.paused_until = Cycle(now.0 + PAUSE);
        self.set = u64::from(random.next_u32()) % cache.sets();
        None
    }

    /// The line of a set that needs work.
    fn candidate(&self, cache: &Cache, set: u64) -> Option<Line> {
        let Some(remapped_lines) = &self.remapped_lines else { return cache.dirty_victim(set) };
        let remapped = remapped_lines[set as usize].map(|(line, _)| line);
        cache.next_victim(set).filter(|line| remapped != Some(*line))
    }

    /// Ends the work for the line: it was remapped ahead.
    pub(crate) fn finish_remap(&mut self, leaf: Leaf) {
        if let (Some((set, line)), Some(remapped_lines)) = (self.pointer.take(), &mut self.remapped_lines) {
            remapped_lines[set as usize] = Some((line, leaf));
        }
    }

    /// The leaf of a line that was remapped ahead.
    pub(crate) fn leaf(&self, cache: &Cache, line: Line) -> Option<Leaf> {
        let (remapped, leaf) = self.remapped_lines.as_ref()?[cache.set_of(line) as usize]?;
        (remapped == line).then_some(leaf)
    }

    /// Forgets the leaf of a line, which is in the tree again.
    pub(crate) fn forget_remapped(&mut self, cache: &Cache, line: Line) {
        if let (Some(_), Some(remapped_lines)) = (self.leaf(cache, line), &mut self.remapped_lines) {
            remapped_lines[cache.set_of(line) as usize] = None;
        }
    }

    /// Ends the work for the line: it was written.
    pub(crate) fn finish_write(&mut self) {
        self.pointer = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Two ways, four sets.
    fn cache() -> Cache {
        Cache::new(512, 2).expect("sets by a power of two")
    }

    #[test]
    fn it_points_to_a_dirty_line_that_goes_next_until_it_is_written_used_or_gone() {
        let (mut cache, mut early) = (cache(), EarlyWriteBack::default());
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut line =
            |cache: &Cache, early: &mut EarlyWriteBack| early.line(cache, Cycle(0), &mut random, |_| true);
        for (at, writes) in [(2, true), (6, false), (3, true), (7, false)] {
            cache.access(Line(at), writes);
        }
        assert_eq!(line(&cache, &mut early), Some(Line(2)));
        assert_eq!(line(&cache, &mut early), Some(Line(2)), "it stays");
        cache.access(Line(2), false);
        assert_eq!(line(&cache, &mut early), Some(Line(3)), "2 was used");
        cache.clean(Line(3));
        early.finish_write();
        assert_eq!(line(&cache, &mut early), None, "no other set has one");
    }

    #[test]
    fn under_delayed_remapping_it_points_to_clean_lines_too_until_they_are_remapped() {
        let cache = {
            let mut cache = cache();
            cache.access(Line(2), false);
            cache.access(Line(6), true);
            cache
        };
        let mut early = EarlyWriteBack::new(&cache, true, EarlyLine::NextVictim);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut line =
            |early: &mut EarlyWriteBack, now| early.line(&cache, Cycle(now), &mut random, |_| true);
        assert_eq!(line(&mut early, 0), Some(Line(2)));
        early.finish_remap(Leaf(9));
        assert_eq!(line(&mut early, 0), None, "no other set has two lines");
        assert_eq!([2, 6].map(|line| early.leaf(&cache, Line(line))), [Some(Leaf(9)), None]);
        early.forget_remapped(&cache, Line(2));
        assert_eq!(early.leaf(&cache, Line(2)), None);
        assert_eq!(line(&mut early, 1000), Some(Line(2)));
    }

    #[test]
    fn the_line_that_was_written_last_is_taken_if_its_position_is_at_hand_and_another_if_it_is_clean() {
        let mut cache = cache();
        cache.access(Line(2), true);
        cache.access(Line(3), true);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut line = |cache: &Cache, at_hand: &[u64]| {
            let mut early = EarlyWriteBack::new(cache, false, EarlyLine::LastWritten);
            early.line(cache, Cycle(0), &mut random, |line| at_hand.contains(&line.0))
        };
        assert_eq!([line(&cache, &[2, 3]), line(&cache, &[2])], [Some(Line(3)), None]);
        cache.clean(Line(3));
        assert_eq!([line(&cache, &[2, 3]), line(&cache, &[3])], [Some(Line(2)), None]);
    }

    #[test]
    fn after_a_search_in_vain_it_rests() {
        let (mut cache, mut early) = (cache(), EarlyWriteBack::default());
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut line = |cache: &Cache, now| early.line(cache, Cycle(now), &mut random, |_| true);
        assert_eq!(line(&cache, 5), None);
        cache.access(Line(0), true);
        cache.access(Line(4), false);
        assert_eq!(line(&cache, 1004), None);
        assert_eq!(line(&cache, 1005), Some(Line(0)));
    }
}
