//! The segments of the journal's file. The journal is an unbounded sequence of sectors. Each segment of it has a place
//! in the file while it is needed, and its place is used again afterwards.

use super::sector::SECTOR;
use std::collections::{BTreeSet, VecDeque};

/// The number of sectors of a segment.
pub(super) const SEGMENT_SECTORS: u64 = 32;
/// The number of bytes of a segment.
pub(super) const SEGMENT: u64 = SEGMENT_SECTORS * SECTOR as u64;

/// The segment of a position in the journal.
pub(super) fn segment_of(at: u64) -> u64 {
    at / SEGMENT_SECTORS
}

/// The segments and their places.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// The number of the first needed segment.
    first: u64,
    /// The places of the needed segments, in order.
    needed: VecDeque<u32>,
    free: BTreeSet<u32>,
}

impl Segments {
    /// The needed segments, from `first` on, in a file with this many places.
    pub(super) fn new(first: u64, needed: Vec<u32>, places: u32) -> Self {
        let mut free: BTreeSet<u32> = (0..places).collect();
        for place in &needed {
            free.remove(place);
        }
        Segments { first, needed: needed.into(), free }
    }

    /// The place of a segment.
    pub(super) fn place(&self, segment: u64) -> Option<u32> {
        let nth = segment.checked_sub(self.first)?;
        self.needed.get(usize::try_from(nth).ok()?).copied()
    }

    /// The number of places of the file.
    pub(super) fn places(&self) -> u32 {
        (self.needed.len() + self.free.len()) as u32
    }

    /// The number of places that must be added before the segments up to this one have places.
    pub(super) fn missing(&self, last: u64) -> u32 {
        let further = (last + 1).saturating_sub(self.first + self.needed.len() as u64);
        further.saturating_sub(self.free.len() as u64) as u32
    }

    /// Adds free places at the end of the file.
    pub(super) fn add(&mut self, places: u32) {
        let from = self.places();
        self.free.extend(from..from + places);
    }

    /// Gives places to all segments up to this one. They follow one another in the file where possible.
    pub(super) fn take(&mut self, last: u64) {
        while self.first + (self.needed.len() as u64) <= last {
            let after = self.needed.back().map_or(0, |place| place + 1);
            let next = self.free.range(after..).next().or(self.free.first()).copied();
            let Some(next) = next else { return };
            self.free.remove(&next);
            self.needed.push_back(next);
        }
    }

    /// Frees the places of all segments before this one.
    pub(super) fn free_before(&mut self, segment: u64) {
        while self.first < segment {
            self.first += 1;
            self.free.extend(self.needed.pop_front());
        }
    }

    /// The runs of sectors that follow one another in the file: their offsets in it, and their numbers of sectors.
    pub(super) fn runs(&self, at: u64, sectors: u64) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        let mut next = at;
        while next < at + sectors {
            let within = next % SEGMENT_SECTORS;
            let some = (SEGMENT_SECTORS - within).min(at + sectors - next);
            let place = self.place(segment_of(next)).expect("the segment has a place");
            let offset = u64::from(place) * SEGMENT + within * SECTOR as u64;
            match runs.last_mut() {
                Some((start, count)) if *start + *count * SECTOR as u64 == offset => *count += some,
                _ => runs.push((offset, some)),
            }
            next += some;
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_when_their_segments_are_not_needed_and_no_two_segments_share_one() {
        let mut segments = Segments::new(0, Vec::new(), 4);
        for segment in 0..40 {
            assert_eq!(segments.missing(segment), 0, "segment {segment}");
            segments.take(segment);
            segments.free_before(segment.saturating_sub(2));
            let places: BTreeSet<u32> =
                (segment.saturating_sub(2)..=segment).filter_map(|segment| segments.place(segment)).collect();
            assert_eq!(places.len() as u64, segment.min(2) + 1, "segment {segment}");
        }
        assert_eq!((segments.places(), segments.missing(42), segments.place(36)), (4, 2, None));
        segments.add(2);
        segments.take(42);
        assert_eq!((segments.places(), segments.missing(43)), (6, 1));
    }

    #[test]
    fn sectors_of_segments_that_follow_one_another_in_the_file_are_one_run() {
        let segments = Segments::new(5, vec![7, 8, 2], 9);
        let first = 5 * SEGMENT_SECTORS + 30;
        let expected = [(7 * SEGMENT + 30 * SECTOR as u64, 2 + SEGMENT_SECTORS), (2 * SEGMENT, 1)];
        assert_eq!(segments.runs(first, 3 + SEGMENT_SECTORS), expected);
    }
}
