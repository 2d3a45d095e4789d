//! Frames of physical memory for the pages of traces.
//!
//! A trace has the lines of virtual addresses, and an ORAM has as many blocks as there is physical memory. Each page
//! of 4 KiB gets a frame when it is touched first, as an operating system gives it. The offset within the page stays.

use super::{Full, Miss, TraceError};
use crate::units::Line;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::HashMap;

/// Lines of a page: 4 KiB.
pub const PAGE_LINES: u64 = 64;

/// The order in which frames are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The next one each time, as a machine does that has just been started.
    FirstTouch,
    /// Any at random, as a machine does that has run for long.
    Random {
        /// The seed: the same one gives the same frames.
        seed: u64,
    },
    /// No frames: a line is its virtual address modulo the memory. Adjacent pages stay adjacent. Two pages whose
    /// distance is the size of the memory become one. So IR-ORAM's authors ran their traces.
    Virtual,
}

/// A program's address space: programs that run in parallel have one each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Space(pub u32);

/// A physical memory, whose frames are given to pages.
#[derive(Clone, Debug)]
pub struct Frames {
    frames: u64,
    lines: u64,
    assigned: HashMap<(Space, u64), u64>,
    random: Option<Shuffle>,
    is_virtual: bool,
}

/// The distance between the virtual addresses of two programs, as a share of the memory.
const SPACES: u64 = 4;

impl Frames {
    /// A memory of this many lines, of which no frame is allocated. An incomplete last page is not used.
    pub fn new(lines: u64, order: Order) -> Self {
        let random = match order {
            Order::FirstTouch | Order::Virtual => None,
            Order::Random { seed } => Some(Shuffle::new(seed)),
        };
        let (frames, is_virtual) = (lines / PAGE_LINES, order == Order::Virtual);
        Frames { frames, lines, assigned: HashMap::new(), random, is_virtual }
    }

    /// The physical line of a program's line.
    ///
    /// # Errors
    /// [`Full`], if all frames are given to other pages.
    pub fn place(&mut self, space: Space, line: Line) -> Result<Line, Full> {
        let (page, offset) = (line.0 / PAGE_LINES, line.0 % PAGE_LINES);
        if self.is_virtual && self.frames > 0 {
            let page = page.wrapping_add(u64::from(space.0) * (self.frames / SPACES));
            return Ok(Line(page % self.frames * PAGE_LINES + offset));
        }
        let frame = match self.assigned.get(&(space, page)) {
            Some(frame) => *frame,
            None => {
                let nth = self.assigned.len() as u64;
                if nth == self.frames {
                    return Err(Full { lines: self.lines });
                }
                let frame = self.random.as_mut().map_or(nth, |random| random.next(nth, self.frames));
                self.assigned.insert((space, page), frame);
                frame
            }
        };
        Ok(Line(frame * PAGE_LINES + offset))
    }

    /// The number of pages that have a frame.
    pub fn pages(&self) -> usize {
        self.assigned.len()
    }
}

/// The first steps of a Fisher–Yates shuffle of the frames, of which only the moved ones are stored.
#[derive(Clone, Debug)]
struct Shuffle {
    random: ChaCha8Rng,
    moved: HashMap<u64, u64>,
}

impl Shuffle {
    fn new(seed: u64) -> Self {
        Shuffle { random: ChaCha8Rng::seed_from_u64(seed), moved: HashMap::new() }
    }

    /// The `nth` frame of this many.
    fn next(&mut self, nth: u64, frames: u64) -> u64 {
        let left = u128::from(frames - nth);
        // Off from uniform by less than the number of frames in 2⁶⁴.
        let other = nth + ((u128::from(self.random.next_u64()) * left) >> 64) as u64;
        let first = self.moved.remove(&nth).unwrap_or(nth);
        if other == nth { first } else { self.moved.insert(other, first).unwrap_or(other) }
    }
}

/// A trace whose lines have a place in a memory.
#[derive(Clone, Debug)]
pub struct PlacedMisses<T> {
    trace: T,
    frames: Frames,
}

impl<T: Iterator<Item = Result<Miss, TraceError>>> PlacedMisses<T> {
    /// Places a trace in a memory of this many lines.
    pub fn new(trace: T, lines: u64, order: Order) -> Self {
        PlacedMisses { trace, frames: Frames::new(lines, order) }
    }
}

/// The misses. A fault of the trace, or a memory that is too small, is an error.
impl<T: Iterator<Item = Result<Miss, TraceError>>> Iterator for PlacedMisses<T> {
    type Item = Result<Miss, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.trace.next()?.and_then(|miss| {
            let line = self.frames.place(Space::default(), miss.line)?;
            Ok(Miss { line, ..miss })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::MAX_LINE;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn orders() -> impl Strategy<Value = Order> {
        prop_oneof![Just(Order::FirstTouch), any::<u64>().prop_map(|seed| Order::Random { seed })]
    }

    /// Lines of a few pages, here and there among all addresses.
    fn lines() -> impl Strategy<Value = Vec<(Space, Line)>> {
        let near = (0..1000u64).prop_map(Line);
        let line = prop_oneof![near.clone(), near.prop_map(|line| Line(MAX_LINE.0 - line.0))];
        prop::collection::vec(((0..3u32).prop_map(Space), line), 0..100)
    }

    proptest! {
        #[test]
        fn a_page_has_one_frame_and_no_other_page_has_it_and_offsets_stay(lines in lines(), order in orders()) {
            let memory = 100 * PAGE_LINES;
            let mut frames = Frames::new(memory, order);
            let mut known: HashMap<(Space, u64), u64> = HashMap::new();
            for (space, line) in lines {
                let Line(place) = frames.place(space, line).unwrap();
                prop_assert!(place < memory);
                prop_assert_eq!(place % PAGE_LINES, line.0 % PAGE_LINES);
                let frame = *known.entry((space, line.0 / PAGE_LINES)).or_insert(place / PAGE_LINES);
                prop_assert_eq!(frame, place / PAGE_LINES);
            }
            prop_assert_eq!(known.values().collect::<HashSet<_>>().len(), known.len());
            prop_assert_eq!(frames.pages(), known.len());
        }

        #[test]
        fn every_frame_is_given_before_the_memory_is_full(frames in 1..200u64, order in orders()) {
            let lines = frames * PAGE_LINES + PAGE_LINES - 1;
            let mut memory = Frames::new(lines, order);
            let mut place = |page: u64| memory.place(Space(0), Line(page * PAGE_LINES));
            let assigned: HashSet<u64> = (0..frames).map(|page| place(page * 3).unwrap().0 / PAGE_LINES).collect();
            prop_assert_eq!(assigned, (0..frames).collect());
            prop_assert_eq!(place(1), Err(Full { lines }));
            prop_assert!(place(0).is_ok(), "a page that has a frame keeps it");
        }
    }

    #[test]
    fn frames_of_first_touch_follow_each_other_and_those_of_a_seed_are_its_own() {
        let assigned = |order| {
            let mut frames = Frames::new(1 << 26, order);
            let place =
                |page: u64| frames.place(Space(0), Line(page * 7 * PAGE_LINES)).unwrap().0 / PAGE_LINES;
            (0..100).map(place).collect::<Vec<_>>()
        };
        assert_eq!(assigned(Order::FirstTouch), (0..100).collect::<Vec<_>>());
        let random = assigned(Order::Random { seed: 1 });
        assert_eq!(random, assigned(Order::Random { seed: 1 }));
        assert_ne!(random, assigned(Order::Random { seed: 2 }));
        let mean = random.iter().sum::<u64>() / 100;
        assert!(((1 << 18)..(3 << 18)).contains(&mean), "{mean} of 2^20 frames");
    }

    #[test]
    fn virtual_addresses_stay_together_and_are_never_refused() {
        let memory = 100 * PAGE_LINES;
        let mut frames = Frames::new(memory + 1, Order::Virtual);
        let mut place = |space, line| frames.place(Space(space), Line(line)).unwrap().0;
        for line in [0, 1, PAGE_LINES, 99 * PAGE_LINES + 5] {
            assert_eq!([place(0, line), place(0, line + 3 * memory)], [line, line]);
            assert_eq!(
                place(2, line),
                (line + memory / 2) % memory,
                "programs begin a quarter of the memory apart"
            );
        }
        assert!(place(3, MAX_LINE.0) < memory);
    }

    #[test]
    fn a_trace_that_needs_more_memory_is_refused_with_what_to_do() {
        let miss = |page: u64| {
            Ok(Miss { instructions: 1, kind: crate::trace::Kind::Load, line: Line(page * PAGE_LINES) })
        };
        let mut placed =
            PlacedMisses::new([miss(5), miss(9), miss(5)].into_iter(), PAGE_LINES, Order::FirstTouch);
        assert_eq!(placed.next().unwrap().unwrap().line, Line(0));
        let error = placed.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("more than the 64 lines of the memory: give it more lines"), "{error}");
        assert!(placed.next().unwrap().is_ok());
    }
}
