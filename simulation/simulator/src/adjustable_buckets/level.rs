//! The buckets of a level, their places, and the queue of places that may be lent.

use super::configuration::AdjustableConfiguration;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use std::collections::VecDeque;

/// The block of a dummy.
const NO_BLOCK: u32 = u32::MAX;

/// The use of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A place whose slot was read: its bucket may take it when the bucket is written.
    Dead,
    /// A place that may be borrowed.
    InQueue,
    /// A place with a slot that was not read, of its own bucket or of another one.
    Live,
}

/// A slot that was not read.
#[derive(Clone, Copy)]
struct Slot {
    place: u32,
    block: u32,
}

#[derive(Clone, Default)]
struct Bucket {
    slots: Vec<Slot>,
    /// The number of reads since it was written, and those after which it is written again.
    reads: u32,
    max_reads: u32,
}

/// A place that an access read.
pub(super) struct Read {
    pub(super) place: u32,
    /// True if it had the block.
    pub(super) is_real: bool,
}

/// The buckets of a level.
pub(super) struct LevelState {
    level: u32,
    /// Z.
    blocks: u32,
    /// The number of places that a bucket owns, and slots that it is to have.
    own: u32,
    wanted: u32,
    buckets: Vec<Bucket>,
    places: Vec<Place>,
    /// Places of each bucket that are lent or in the queue, and the maximum of them.
    lent: Vec<u32>,
    max_lent: u32,
    queue: VecDeque<u32>,
    max_queue: usize,
}

impl LevelState {
    pub(super) fn new(configuration: &AdjustableConfiguration, level: u32) -> Self {
        let AdjustableConfiguration { blocks_per_bucket: blocks, reads, more, queue, .. } = *configuration;
        let (own, buckets) = (configuration.slots(level), 1usize << level);
        let is_small = own < blocks + reads && queue > 0;
        LevelState {
            level,
            blocks,
            own,
            wanted: if is_small { (own + more).min(blocks + reads) } else { own },
            buckets: vec![Bucket::default(); buckets],
            places: vec![Place::Dead; buckets * own as usize],
            lent: vec![0; buckets],
            max_lent: own - blocks - 1,
            queue: VecDeque::new(),
            max_queue: if is_small { queue } else { 0 },
        }
    }

    pub(super) fn level(&self) -> u32 {
        self.level
    }

    /// Blocks that a bucket may hold.
    pub(super) fn room(&self) -> usize {
        self.blocks as usize
    }

    /// Returns whether a bucket is to be written before it is read again.
    pub(super) fn is_worn(&self, bucket: u32) -> bool {
        let Bucket { reads, max_reads, .. } = self.buckets[bucket as usize];
        reads >= max_reads
    }

    /// Reads the slot of a block, or that of a random dummy.
    pub(super) fn read(&mut self, bucket: u32, block: u32, random: &mut ChaCha8Rng) -> Read {
        let Bucket { slots, reads, .. } = &mut self.buckets[bucket as usize];
        *reads += 1;
        let found = slots.iter().position(|slot| slot.block == block);
        let nth = found.unwrap_or_else(|| random_dummy(slots, random));
        let place = slots.swap_remove(nth).place;
        self.release(bucket, place);
        Read { place, is_real: found.is_some() }
    }

    /// Puts a dead place into the queue, if there is room, and its bucket lends fewer than it may.
    pub(super) fn lend(&mut self, place: u32) {
        let owner = (place / self.own) as usize;
        if self.queue.len() < self.max_queue && self.lent[owner] < self.max_lent {
            self.lent[owner] += 1;
            self.places[place as usize] = Place::InQueue;
            self.queue.push_back(place);
        }
    }

    /// Empties a bucket that is about to be written: its unread blocks go into the stash. Returns the places that are
    /// read for that, which are the places of these blocks, and of dummies up to Z.
    pub(super) fn take_out(
        &mut self,
        bucket: u32,
        stash: &mut Vec<u32>,
        random: &mut ChaCha8Rng,
    ) -> Vec<u32> {
        let mut slots = std::mem::take(&mut self.buckets[bucket as usize].slots);
        let mut left: Vec<u32> = slots.iter().map(|slot| slot.place).collect();
        let real = slots.extract_if(.., |slot| slot.block != NO_BLOCK);
        let mut read: Vec<u32> = real.map(|slot| (stash.push(slot.block), slot.place).1).collect();
        while read.len() < self.blocks as usize && !slots.is_empty() {
            read.push(slots.swap_remove(random.next_u32() as usize % slots.len()).place);
        }
        // In the order of the places, which says nothing of the blocks.
        read.sort_unstable();
        left.sort_unstable();
        for place in left {
            self.release(bucket, place);
            if place / self.own != bucket {
                self.lend(place);
            }
        }
        read
    }

    /// Writes a bucket from which all was taken out, with blocks at random places; the places.
    /// `in_own` is a bug that tests inject: the blocks are at its own places.
    pub(super) fn write(
        &mut self,
        bucket: u32,
        blocks: &[u32],
        random: &mut ChaCha8Rng,
        in_own: bool,
    ) -> Vec<u32> {
        let own = bucket * self.own..(bucket + 1) * self.own;
        let mut places: Vec<u32> = own.filter(|place| self.places[*place as usize] == Place::Dead).collect();
        while places.len() < self.wanted as usize
            && (places.len() < self.own as usize || self.queue.len() > self.max_queue / 2)
            && let Some(place) = self.queue.pop_front()
        {
            if place / self.own == bucket {
                self.lent[bucket as usize] -= 1;
            }
            places.push(place);
        }
        places.iter().for_each(|place| self.places[*place as usize] = Place::Live);
        let mut slots: Vec<Slot> =
            places.iter().map(|place| Slot { place: *place, block: NO_BLOCK }).collect();
        for (nth, block) in blocks.iter().enumerate() {
            let among = slots.len() - nth;
            let other = if in_own { nth } else { nth + random.next_u32() as usize % among };
            slots.swap(nth, other);
            slots[nth].block = *block;
        }
        let max_reads = slots.len() as u32 - self.blocks;
        self.buckets[bucket as usize] = Bucket { slots, reads: 0, max_reads };
        places.sort_unstable();
        places
    }

    /// The blocks in the buckets.
    #[cfg(test)]
    pub(super) fn contents(&self) -> impl Iterator<Item = (u32, u32)> {
        let slots = (0u32..)
            .zip(&self.buckets)
            .flat_map(|(nth, bucket)| bucket.slots.iter().map(move |slot| (nth, slot.block)));
        slots.filter(|(_, block)| *block != NO_BLOCK)
    }

    /// Marks a place as dead, because its slot was read or dropped. A bucket that had lent the place gets it back.
    fn release(&mut self, bucket: u32, place: u32) {
        let owner = place / self.own;
        if owner != bucket {
            self.lent[owner as usize] -= 1;
        }
        self.places[place as usize] = Place::Dead;
    }
}

/// A random one of the slots without blocks. There is one: a bucket with n slots is read n - Z times.
fn random_dummy(slots: &[Slot], random: &mut ChaCha8Rng) -> usize {
    let dummies = || (0..slots.len()).filter(|nth| slots[*nth].block == NO_BLOCK);
    let nth = random.next_u32() as usize % dummies().count();
    dummies().nth(nth).expect("it is less than their number")
}
