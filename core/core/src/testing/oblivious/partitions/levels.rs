//! The levels of ObliviStore as the trace shows them. A take reads a slot of each level. A put merges all levels above
//! the first empty level.

use super::super::observer::{Pick, draw_below, ensure};
use super::sub_orams::{Shown, SubOrams};
use crate::schemes::oblivistore::ObliviStoreParameters;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(super) struct Partitions {
    /// The number of blocks that each level has room for. A level has twice as many slots.
    rooms: Vec<u64>,
    partitions: Vec<Partition>,
}

struct Partition {
    /// The slots of each level that were not read since it was built; `None` if it holds nothing.
    unread: Vec<Option<Vec<u64>>>,
    /// The last choice in each building of each level.
    before: Vec<Option<f64>>,
}

impl Partitions {
    pub(super) fn new(parameters: &ObliviStoreParameters) -> Self {
        let shape = &parameters.partition;
        let rooms: Vec<u64> = (0..shape.levels)
            .map(|level| if level + 1 == shape.levels { shape.capacity } else { 1 << level })
            .collect();
        let last = rooms.len() - 1;
        let partition = |partition| {
            let puts = parameters.puts_before(partition);
            let is_filled = |level: usize| level == last || puts & (1 << level) != 0;
            let slots = |(level, room): (usize, &u64)| is_filled(level).then(|| (0..2 * room).collect());
            let unread = rooms.iter().enumerate().map(slots).collect();
            Partition { unread, before: rooms.iter().map(|_| None).collect() }
        };
        let partitions = (0..parameters.partitions.partitions).map(partition).collect();
        Partitions { rooms, partitions }
    }

    fn slots(&self) -> u64 {
        self.rooms.iter().map(|room| 2 * room).sum()
    }

    /// The number of the first slot of a level.
    fn first(&self, at: usize, level: usize) -> u64 {
        at as u64 * self.slots() + self.rooms[..level].iter().map(|room| 2 * room).sum::<u64>()
    }

    /// The level that the next put fills, and the number of levels that it empties.
    fn merged(&self, at: usize) -> (usize, usize) {
        let unfilled = self.partitions[at].unread.iter().position(Option::is_none);
        (unfilled.unwrap_or(self.rooms.len() - 1), unfilled.unwrap_or(self.rooms.len()))
    }

    /// Records that an unread slot of a level was read. Which of them is a choice.
    fn read(
        &mut self,
        at: usize,
        level: usize,
        bucket: u64,
        shown: Option<&mut Shown<'_>>,
    ) -> Result<(), String> {
        let slot = bucket.checked_sub(self.first(at, level));
        let Partition { unread, before } = &mut self.partitions[at];
        let left = unread[level].as_mut().ok_or_else(|| format!("level {level} holds nothing"))?;
        let rank = left.iter().position(|unread| Some(*unread) == slot);
        let rank = rank.ok_or_else(|| format!("bucket {bucket} is not an unread slot of level {level}"))?;
        if let Some(Shown { random, picks }) = shown {
            let pick = Pick::of(*random, None, level as u32, (rank, left.len()), before[level]);
            before[level] = Some(pick.value);
            picks.push(pick);
        }
        left.remove(rank);
        Ok(())
    }
}

impl SubOrams for Partitions {
    fn partition(&self, bucket: u64) -> usize {
        (bucket / self.slots()) as usize
    }

    fn take(&mut self, at: usize, read: &[u64], shown: &mut Shown<'_>) -> Result<u64, String> {
        let filled: Vec<usize> =
            (0..self.rooms.len()).filter(|level| self.partitions[at].unread[*level].is_some()).collect();
        ensure(filled.len() == read.len(), || format!("a take read {read:?} of levels {filled:?}"))?;
        for (level, bucket) in filled.into_iter().zip(read) {
            self.read(at, level, *bucket, Some(shown))?;
        }
        Ok(at as u64)
    }

    fn drains(&self, at: usize) -> bool {
        self.merged(at).1 > 0
    }

    fn drain(&mut self, at: usize, read: &[u64], shown: &mut Shown<'_>) -> Result<(), String> {
        let mut rest = read;
        for level in 0..self.merged(at).1 {
            let room = self.rooms[level] as usize;
            let (slots, others) =
                rest.split_at_checked(room).ok_or_else(|| format!("a put read only {read:?}"))?;
            ensure(slots.is_sorted(), || format!("a put read {slots:?} in an order of its own"))?;
            // One of them, drawn by the judge, is a choice among all unread.
            let chosen = draw_below(shown.random, slots.len());
            self.read(at, level, slots[chosen], Some(shown))?;
            for (nth, slot) in slots.iter().enumerate() {
                if nth != chosen {
                    self.read(at, level, *slot, None)?;
                }
            }
            rest = others;
        }
        ensure(rest.is_empty(), || format!("a put read {rest:?} too many"))
    }

    fn fill(&mut self, at: usize, written: &[u64], _: bool) -> Result<Option<u64>, String> {
        let (into, emptied) = self.merged(at);
        let first = self.first(at, into);
        let due: Vec<u64> = (first..first + 2 * self.rooms[into]).collect();
        ensure(written == due, || format!("a put wrote {written:?}, due are {due:?}"))?;
        let Partition { unread, before } = &mut self.partitions[at];
        unread[..emptied].fill(None);
        unread[into] = Some((0..2 * self.rooms[into]).collect());
        before[into] = None;
        // The place of the sweep's puts follows from the number of accesses: no leaf.
        Ok(None)
    }
}
