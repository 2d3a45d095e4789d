//! The PLB, the PosMap look-aside buffer: PosMap blocks on the trusted side, each of which is nowhere else. With
//! payloads of another kind it is a tag array that keeps leaves.

use crate::types::{BlockId, Leaf};
use alloc::vec;
use alloc::vec::Vec;

/// A cache of PosMap blocks by their number, set-associative, with the least recently used block of a set going
/// first. One way makes it direct-mapped.
pub(crate) struct LookAside {
    lines: Vec<Line>,
    payloads: Vec<u8>,
    block_bytes: usize,
    ways: usize,
    /// The counter of the block of each line, where blocks have tags; else nothing.
    counters: Vec<u64>,
    /// The number of uses so far: the time of the lines.
    uses: u64,
}

#[derive(Clone, Copy, Default)]
struct Line {
    /// The block's number and one; 0 for an empty line.
    block: u64,
    leaf: u32,
    used: u64,
}

/// The place of a block in the buffer, until another one is put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

/// A block that has to leave the buffer.
pub(crate) struct Victim<'a> {
    pub(crate) block: BlockId,
    pub(crate) leaf: Leaf,
    pub(crate) payload: &'a [u8],
}

impl LookAside {
    /// An empty buffer of `lines` blocks in sets of `ways`. It knows the counters of its blocks if they have tags.
    pub(crate) fn new((lines, ways): (u32, u32), block_bytes: u32, has_tags: bool) -> Self {
        let block_bytes = block_bytes as usize;
        LookAside {
            lines: vec![Line::default(); lines as usize],
            payloads: vec![0; lines as usize * block_bytes],
            block_bytes,
            ways: ways as usize,
            counters: vec![0; if has_tags { lines as usize } else { 0 }],
            uses: 0,
        }
    }

    /// The bytes that the buffer occupies.
    pub(crate) fn bytes(&self) -> usize {
        self.payloads.len() + size_of_val(&self.lines[..]) + size_of_val(&self.counters[..])
    }

    /// The place of a block, if it is here. The order of its set stays as it is.
    pub(crate) fn place(&self, block: BlockId) -> Option<Place> {
        self.set(block).find(|at| self.lines[*at].block == block.0 + 1).map(Place)
    }

    /// Makes the block at a place the most recently used one of its set.
    pub(crate) fn touch(&mut self, Place(at): Place) {
        self.uses += 1;
        self.lines[at].used = self.uses;
    }

    /// The place that a block would take, and what is there now.
    pub(crate) fn victim(&self, block: BlockId) -> (Place, Option<Victim<'_>>) {
        let place = Place(self.set(block).min_by_key(|at| self.lines[*at].used).expect("a set has ways"));
        let line = self.lines[place.0];
        let victim = line.block.checked_sub(1).map(|block| Victim {
            block: BlockId(block),
            leaf: Leaf(line.leaf.into()),
            payload: self.payload(place),
        });
        (place, victim)
    }

    /// Puts a block at a place, over what was there.
    pub(crate) fn put(&mut self, Place(at): Place, block: BlockId, leaf: Leaf, payload: &[u8]) {
        self.uses += 1;
        self.lines[at] = Line { block: block.0 + 1, leaf: leaf.0 as u32, used: self.uses };
        self.payload_mut(Place(at)).copy_from_slice(payload);
    }

    /// The leaf of the block at a place.
    pub(crate) fn leaf(&self, Place(at): Place) -> Leaf {
        Leaf(self.lines[at].leaf.into())
    }

    /// Gives the block at a place another leaf and counter.
    pub(crate) fn set_position(&mut self, Place(at): Place, leaf: Leaf, counter: u64) {
        self.lines[at].leaf = leaf.0 as u32;
        self.set_counter(Place(at), counter);
    }

    /// Sets the counter of the block at a place, if blocks have tags.
    pub(crate) fn set_counter(&mut self, Place(at): Place, counter: u64) {
        if let Some(kept) = self.counters.get_mut(at) {
            *kept = counter;
        }
    }

    /// The block at a place and its counter, where blocks have tags.
    pub(crate) fn counted(&self, Place(at): Place) -> Option<(BlockId, u64)> {
        Some((BlockId(self.lines[at].block.checked_sub(1)?), *self.counters.get(at)?))
    }

    /// The payload at a place.
    pub(crate) fn payload(&self, Place(at): Place) -> &[u8] {
        &self.payloads[at * self.block_bytes..(at + 1) * self.block_bytes]
    }

    /// The payload at a place, to be changed.
    pub(crate) fn payload_mut(&mut self, Place(at): Place) -> &mut [u8] {
        &mut self.payloads[at * self.block_bytes..(at + 1) * self.block_bytes]
    }

    fn set(&self, block: BlockId) -> core::ops::Range<usize> {
        let sets = self.lines.len() / self.ways;
        let set = (block.0 % sets as u64) as usize;
        set * self.ways..(set + 1) * self.ways
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(buffer: &mut LookAside, block: u64) -> Option<u64> {
        let (place, victim) = buffer.victim(BlockId(block));
        let victim = victim.map(|Victim { block, leaf, payload }| {
            assert_eq!((leaf, payload), (Leaf(block.0 + 100), &[block.0 as u8][..]));
            block.0
        });
        buffer.put(place, BlockId(block), Leaf(block + 100), &[block as u8]);
        victim
    }

    #[test]
    fn a_block_takes_the_place_of_the_least_recently_used_one_of_its_set() {
        let mut buffer = LookAside::new((8, 2), 1, false);
        assert_eq!([0, 4, 1].map(|block| put(&mut buffer, block)), [None; 3]);
        let place = buffer.place(BlockId(0)).unwrap();
        assert_eq!(buffer.payload(place), [0]);
        buffer.touch(place);
        assert_eq!(put(&mut buffer, 8), Some(4));
        assert_eq!([0, 8, 4].map(|block| buffer.place(BlockId(block)).is_some()), [true, true, false]);
    }

    #[test]
    fn a_direct_mapped_buffer_has_one_place_for_a_block() {
        let mut buffer = LookAside::new((4, 1), 1, true);
        assert_eq!([1, 5, 1].map(|block| put(&mut buffer, block)), [None, Some(1), Some(5)]);
        let place = buffer.place(BlockId(1)).unwrap();
        buffer.set_position(place, Leaf(7), 3);
        assert_eq!(buffer.counted(place), Some((BlockId(1), 3)));
        assert_eq!(buffer.victim(BlockId(5)).1.unwrap().leaf, Leaf(7));
    }
}
