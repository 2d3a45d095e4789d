//! IR-DWB: dirty lines of the last-level cache that are written back in the place of dummies (Raoufi, Zhang, Yang, "IR-ORAM:
//! Path Access Type Based Memory Intensity Reduction for Path-ORAM", section IV-D).
//!
//! `Ptr` points to the least recently used line of a set, if that is dirty. Each dummy does a step for it: it brings a PosMap
//! block that is lacking, or at last writes the line. The paper's register `Stage`, the number of steps left, is what the front
//! end answers when it is asked which path comes next. If the line is used meanwhile, or has to leave, it is given up.

use lethe_processor::cache::Cache;
use lethe_processor::units::{Cycle, Line};
use rand_core::RngCore;

/// Cycles for which the search rests when no set had a dirty line.
const PAUSE: u64 = 1000;

/// The register `Ptr`, and the state of the search.
#[derive(Debug, Default)]
pub(crate) struct EarlyWriteBack {
    pointer: Option<(u64, Line)>,
    /// The set that is searched next.
    set: u64,
    paused_until: Cycle,
}

impl EarlyWriteBack {
    /// The line that a dummy at this cycle works for. Sets are searched in turn.
    pub(crate) fn line(&mut self, cache: &Cache, now: Cycle, random: &mut impl RngCore) -> Option<Line> {
        if let Some((set, line)) = self.pointer {
            if cache.dirty_victim(set) == Some(line) {
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
            if let Some(line) = cache.dirty_victim(set) {
                self.pointer = Some((set, line));
                return Some(line);
            }
        }
        self.paused_until = Cycle(now.0 + PAUSE);
        self.set = u64::from(random.next_u32()) % cache.sets();
        None
    }

    /// Ends the work for the line: it was written.
    pub(crate) fn done(&mut self) {
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
        let mut line = |cache: &Cache, early: &mut EarlyWriteBack| early.line(cache, Cycle(0), &mut random);
        for (at, writes) in [(2, true), (6, false), (3, true), (7, false)] {
            cache.access(Line(at), writes);
        }
        assert_eq!(line(&cache, &mut early), Some(Line(2)));
        assert_eq!(line(&cache, &mut early), Some(Line(2)), "it stays");
        cache.access(Line(2), false);
        assert_eq!(line(&cache, &mut early), Some(Line(3)), "2 was used");
        cache.clean(Line(3));
        early.done();
        assert_eq!(line(&cache, &mut early), None, "no other set has one");
    }

    #[test]
    fn after_a_search_in_vain_it_rests() {
        let (mut cache, mut early) = (cache(), EarlyWriteBack::default());
        let mut random = ChaCha8Rng::seed_from_u64(1);
        assert_eq!(early.line(&cache, Cycle(5), &mut random), None);
        cache.access(Line(0), true);
        cache.access(Line(4), false);
        assert_eq!(early.line(&cache, Cycle(1004), &mut random), None);
        assert_eq!(early.line(&cache, Cycle(1005), &mut random), Some(Line(0)));
    }
}
