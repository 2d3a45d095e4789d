//! The work on its way between a scheme and its store: reads of evictions, rewrites of buckets, the blocks of a batch.
//!
//! An eviction **reads** up to Z unread slots of each of its buckets in one round, then **rewrites** the buckets. The
//! blocks that it placed stay in the stash until the store has them. An eviction of several slices has a round for
//! each, and **holds** its buckets from their round to their rewrite.
//!
//! Several **batches** may be in flight. They are served in their order, whatever the order in which their reads end.
//! Blocks that they requested are **pinned** to the stash, so that no eviction at the same time takes them away. An
//! eviction places blocks only when all batches that were planned before it are served. So a block that was accessed
//! before an eviction is placed as if nothing ran in parallel. Therefore the [bound of the stash](super::stash_bound)
//! holds for any number of batches.

use crate::types::{BlockId, Bucket, Leaf, Level, Slot};
use alloc::vec::Vec;

/// A round of reads, counted from 1. It names the rewrite that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round(u64);

/// A block of the stash that the metadata list in a bucket as well: it was read from there, or placed there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) block: BlockId,
    pub(crate) level: Level,
    pub(crate) slot: Slot,
}

/// Buckets that are being written, and the blocks in them.
#[derive(Debug)]
struct Rewrite {
    round: Round,
    buckets: Vec<Bucket>,
    placed: Vec<Placed>,
}

/// The number of a batch, counted from 0 in the order in which batches were planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BatchNumber(u64);

/// A block that a batch in flight requested, with its leaf from then on.
#[derive(Clone, Copy, Debug)]
struct Pin {
    batch: BatchNumber,
    block: BlockId,
    leaf: Leaf,
}

/// The work in flight. Its buckets are public, its blocks are secret.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// The last round of reads begun, and its buckets while it lasts.
    round: Round,
    reading: Vec<Bucket>,
    /// The buckets that were read and are not being written yet, and the blocks listed in them.
    held: Vec<Bucket>,
    held_blocks: Vec<Placed>,
    rewrites: Vec<Rewrite>,
    /// The batches that were planned so far, and those that were served.
    planned: BatchNumber,
    served: BatchNumber,
    /// The pins of the batches in flight, in the order of the batches.
    pinned: Vec<Pin>,
    /// The number of blocks that the batches in flight will bring into the stash.
    arriving: usize,
    /// True while a slice of an eviction has begun, and its reads or the fill after the last of them have not ended.
    pub(crate) unfilled: bool,
}

impl InFlight {
    /// Returns the state with nothing in flight.
    pub(crate) fn none() -> Self {
        InFlight {
            round: Round(0),
            reading: Vec::new(),
            held: Vec::new(),
            held_blocks: Vec::new(),
            rewrites: Vec::new(),
            planned: BatchNumber::default(),
            served: BatchNumber::default(),
            pinned: Vec::new(),
            arriving: 0,
            unfilled: false,
        }
    }

    /// Returns the state between two steps, with these buckets held.
    pub(crate) fn with_held(held: Vec<Bucket>, held_blocks: Vec<Placed>) -> Self {
        InFlight { held, held_blocks, ..InFlight::none() }
    }

    /// Begins a round of reads of these buckets. Only one round runs at a time.
    pub(crate) fn begin_round(&mut self, buckets: impl Iterator<Item = Bucket>) {
        debug_assert!(self.reading.is_empty(), "one round of reads at a time");
        self.round.0 += 1;
        self.reading.extend(buckets);
    }

    /// The round that reads a bucket now.
    pub(crate) fn round_of(&self, bucket: Bucket) -> Option<Round> {
        self.reading.contains(&bucket).then_some(self.round)
    }

    /// Returns whether a round of reads has not ended.
    pub(crate) fn lasts(&self, round: Round) -> bool {
        !self.reading.is_empty() && round == self.round
    }

    /// Ends the round of reads: its buckets are held from now on, and these blocks are listed in them.
    pub(crate) fn hold(&mut self, blocks: impl IntoIterator<Item = Placed>) {
        self.held.append(&mut self.reading);
        self.held_blocks.extend(blocks);
    }

    /// Lists no block in these held buckets any more: they are about to be filled.
    pub(crate) fn release_blocks(&mut self, buckets: &[(Level, Bucket)]) {
        self.held_blocks.retain(|held| buckets.iter().all(|(_, bucket)| *bucket != held.slot.bucket));
    }

    /// Lists a block in a held bucket.
    pub(crate) fn place(&mut self, placed: Placed) {
        self.held_blocks.push(placed);
    }

    /// Begins the rewrite of held buckets. Returns the blocks in them, and its name.
    pub(crate) fn rewrite(&mut self, buckets: &[(Level, Bucket)]) -> (Round, &[Placed]) {
        let is_written = |bucket: Bucket| buckets.iter().any(|(_, written)| *written == bucket);
        self.held.retain(|bucket| !is_written(*bucket));
        let mut placed: Vec<Placed> =
            self.held_blocks.extract_if(.., |placed| is_written(placed.slot.bucket)).collect();
        // The order must not tell a state that was brought back from one that continued.
        placed.sort_unstable_by_key(|placed| placed.slot);
        let buckets: Vec<Bucket> = buckets.iter().map(|(_, bucket)| *bucket).collect();
        debug_assert!(
            self.rewrites.iter().all(|other| buckets.iter().all(|bucket| !other.buckets.contains(bucket))),
            "a bucket is written once at a time"
        );
        self.rewrites.push(Rewrite { round: self.round, buckets, placed });
        (self.round, self.rewrites.last().map_or(&[], |rewrite| &rewrite.placed))
    }

    /// Ends a rewrite: the store has its buckets, so these blocks are to leave the stash.
    pub(crate) fn written(&mut self, round: Round) -> impl Iterator<Item = Placed> + '_ {
        self.rewrites.extract_if(.., move |rewrite| rewrite.round == round).flat_map(|rewrite| rewrite.placed)
    }

    /// Rewrites on their way to the store.
    pub(crate) fn rewrites(&self) -> usize {
        self.rewrites.len()
    }

    /// Returns whether a bucket is being read by an eviction, held, or written. Public.
    pub(crate) fn has(&self, bucket: Bucket) -> bool {
        self.reading.contains(&bucket)
            || self.held.contains(&bucket)
            || self.rewrites.iter().any(|rewrite| rewrite.buckets.contains(&bucket))
    }

    /// Returns the number of blocks in the stash that are listed in a bucket as well: in a held one, or in one that is
    /// being written.
    pub(crate) fn listed(&self) -> usize {
        self.held_blocks.len() + self.rewrites.iter().map(|rewrite| rewrite.placed.len()).sum::<usize>()
    }

    /// Returns whether a block may be placed: no batch requests it, and it is not listed in a bucket.
    pub(crate) fn is_free(&self, block: BlockId) -> bool {
        let rewritten = self.rewrites.iter().flat_map(|rewrite| &rewrite.placed);
        self.pinned_to(block).is_none()
            && self.held_blocks.iter().chain(rewritten).all(|of| of.block != block)
    }

    /// Begins to plan a batch, and returns its number.
    pub(crate) fn begin_batch(&mut self) -> BatchNumber {
        let number = self.planned;
        self.planned.0 += 1;
        number
    }

    /// The number of the next batch.
    pub(crate) fn planned(&self) -> BatchNumber {
        self.planned
    }

    /// Returns whether all batches before this one are served.
    pub(crate) fn is_next(&self, batch: BatchNumber) -> bool {
        self.served >= batch
    }

    /// Returns whether no batch and no rewrite is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.served == self.planned && self.rewrites.is_empty()
    }

    /// Counts the blocks that a batch will bring into the stash.
    pub(crate) fn expect(&mut self, blocks: usize) {
        self.arriving += blocks;
    }

    /// Records that a block of a batch has come into the stash.
    pub(crate) fn on_arrived(&mut self) {
        self.arriving -= 1;
    }

    /// The number of blocks that the batches in flight will bring into the stash.
    pub(crate) fn arriving(&self) -> usize {
        self.arriving
    }

    /// Pins a block to the stash until its batch [is served](Self::on_served): from now on it belongs to this leaf.
    /// Returns where it was listed; it is no longer there.
    pub(crate) fn pin(&mut self, batch: BatchNumber, block: BlockId, leaf: Leaf) -> Option<Placed> {
        self.pinned.push(Pin { batch, block, leaf });
        self.take_back(block)
    }

    /// Takes a block back from the bucket that it is listed in: it stays in the stash. Returns where it was listed.
    pub(crate) fn take_back(&mut self, block: BlockId) -> Option<Placed> {
        let rewritten = self.rewrites.iter_mut().map(|rewrite| &mut rewrite.placed);
        rewritten.chain([&mut self.held_blocks]).find_map(|listed| {
            let at = listed.iter().position(|placed| placed.block == block)?;
            Some(listed.swap_remove(at))
        })
    }

    /// The leaf of a block that is pinned: that of the last batch that requested it.
    pub(crate) fn pinned_to(&self, block: BlockId) -> Option<Leaf> {
        self.pinned.iter().rev().find(|pin| pin.block == block).map(|pin| pin.leaf)
    }

    /// Ends the pins of the next batch, which is served: its blocks may be placed again, unless another batch in flight
    /// requested them.
    pub(crate) fn on_served(&mut self, batch: BatchNumber) {
        debug_assert!(batch == self.served, "batches are served in their order");
        self.served.0 += 1;
        self.pinned.retain(|pin| pin.batch != batch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn placed(block: u64) -> Placed {
        Placed { block: BlockId(block), level: Level(0), slot: Slot { bucket: Bucket(1), index: 0 } }
    }

    /// A bucket that is being written, with blocks 7 and 8 in it.
    fn writing() -> (InFlight, Round) {
        let mut flight = InFlight::none();
        flight.begin_round([Bucket(1)].into_iter());
        flight.hold([placed(7), placed(8)]);
        let (round, blocks) = flight.rewrite(&[(Level(0), Bucket(1))]);
        assert_eq!(blocks.len(), 2);
        (flight, round)
    }

    #[test]
    fn a_bucket_is_in_flight_from_its_reading_to_the_end_of_its_writing() {
        let mut flight = InFlight::none();
        flight.begin_round([Bucket(1)].into_iter());
        let round = flight.round_of(Bucket(1)).unwrap();
        assert!(flight.lasts(round) && flight.has(Bucket(1)) && flight.round_of(Bucket(2)).is_none());
        flight.hold([placed(7), placed(8)]);
        assert!(!flight.lasts(round) && flight.has(Bucket(1)) && flight.round_of(Bucket(1)).is_none());
        assert_eq!((flight.rewrites(), flight.listed()), (0, 2));
        assert_eq!(flight.rewrite(&[(Level(0), Bucket(1))]).0, round);
        assert!(flight.has(Bucket(1)));
        assert_eq!((flight.rewrites(), flight.listed()), (1, 2));
        assert_eq!(flight.written(round).map(|placed| placed.block.0).collect::<Vec<_>>(), [7, 8]);
        assert!(!flight.has(Bucket(1)));
    }

    #[test]
    fn blocks_that_were_read_are_free_once_their_buckets_are_to_be_filled() {
        let other = Placed { slot: Slot { bucket: Bucket(2), index: 0 }, ..placed(9) };
        let mut flight = InFlight::with_held(vec![Bucket(1), Bucket(2)], vec![placed(7), other]);
        assert!(!flight.is_free(BlockId(7)) && !flight.is_free(BlockId(9)));
        flight.release_blocks(&[(Level(0), Bucket(1))]);
        assert!(flight.is_free(BlockId(7)) && !flight.is_free(BlockId(9)) && flight.has(Bucket(1)));
        flight.place(placed(8));
        let (_, blocks) = flight.rewrite(&[(Level(0), Bucket(1))]);
        assert!(blocks.iter().map(|placed| placed.block.0).eq([8]));
        assert!(flight.has(Bucket(2)) && flight.listed() == 2);
    }

    #[test]
    fn a_block_that_is_pinned_is_placed_nowhere() {
        let (mut flight, round) = writing();
        assert!(!flight.is_free(BlockId(7)) && flight.is_free(BlockId(9)));
        let first = flight.begin_batch();
        assert!(flight.pin(first, BlockId(7), Leaf(3)).is_some());
        assert!(flight.pin(first, BlockId(9), Leaf(4)).is_none());
        assert_eq!(flight.pinned_to(BlockId(7)), Some(Leaf(3)));
        assert_eq!(flight.written(round).count(), 1, "only the other one leaves the stash");
        assert!(!flight.is_free(BlockId(7)) && !flight.is_free(BlockId(9)));
        let second = flight.begin_batch();
        assert!(flight.pin(second, BlockId(7), Leaf(5)).is_none());
        assert!(flight.is_next(first) && !flight.is_next(second));
        assert_eq!(flight.pinned_to(BlockId(7)), Some(Leaf(5)), "the later batch has drawn its leaf");
        flight.on_served(first);
        assert!(
            flight.is_free(BlockId(9)) && !flight.is_free(BlockId(7)),
            "the second batch requested it too"
        );
        assert!(flight.is_next(second));
        flight.on_served(second);
        assert!(flight.is_free(BlockId(7)) && flight.is_empty());
    }
}
