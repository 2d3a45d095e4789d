//! The work on its way between a scheme and its store: reads of evictions, rewrites of buckets, the blocks of a batch.
//!
//! An eviction **reads** the rest of its buckets in one round, then **rewrites** them. The blocks that it placed stay
//! in the stash until the store has them. Blocks that a batch in flight requested are **pinned** to the stash, so that
//! no eviction at the same time takes them away.

use crate::types::{BlockId, Bucket, Leaf, Level, Slot};
use alloc::vec::Vec;

/// A round of reads, counted from 1. It names the rewrite that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round(u64);

/// A block that was placed into a bucket and is still in the stash as well.
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

/// The work in flight. Its buckets are public, its blocks are secret.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// The last round of reads begun, and its buckets while it lasts.
    round: Round,
    reading: Vec<Bucket>,
    rewrites: Vec<Rewrite>,
    pinned: Vec<(BlockId, Leaf)>,
    /// True while the last eviction has begun and has not filled its buckets yet.
    pub(crate) unfilled: bool,
}

impl InFlight {
    /// Returns the state with nothing in flight.
    pub(crate) fn none() -> Self {
        let (reading, rewrites, pinned) = <_>::default();
        InFlight { round: Round(0), reading, rewrites, pinned, unfilled: false }
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

    /// Ends the round of reads and begins the rewrite of its buckets.
    pub(crate) fn rewrite(&mut self, placed: Vec<Placed>) -> Round {
        let buckets = core::mem::take(&mut self.reading);
        debug_assert!(
            self.rewrites.iter().all(|other| buckets.iter().all(|bucket| !other.buckets.contains(bucket))),
            "a bucket is written once at a time"
        );
        self.rewrites.push(Rewrite { round: self.round, buckets, placed });
        self.round
    }

    /// Ends a rewrite: the store has its buckets, so these blocks are to leave the stash.
    pub(crate) fn written(&mut self, round: Round) -> impl Iterator<Item = Placed> + '_ {
        self.rewrites.extract_if(.., move |rewrite| rewrite.round == round).flat_map(|rewrite| rewrite.placed)
    }

    /// Rewrites on their way to the store.
    pub(crate) fn rewrites(&self) -> usize {
        self.rewrites.len()
    }

    /// Returns whether a bucket is being read by an eviction, or written. Public.
    pub(crate) fn has(&self, bucket: Bucket) -> bool {
        self.reading.contains(&bucket)
            || self.rewrites.iter().any(|rewrite| rewrite.buckets.contains(&bucket))
    }

    /// Returns the number of blocks in the stash that only wait for a rewrite to end.
    pub(crate) fn placed(&self) -> usize {
        self.rewrites.iter().map(|rewrite| rewrite.placed.len()).sum()
    }

    /// Returns whether a block may be placed: no batch requests it, and it is not placed already.
    pub(crate) fn is_free(&self, block: BlockId) -> bool {
        self.pinned_to(block).is_none()
            && self.rewrites.iter().flat_map(|rewrite| &rewrite.placed).all(|placed| placed.block != block)
    }

    /// Pins a block to the stash until [`unpin`](Self::unpin): from now on it belongs to this leaf. Returns where it
    /// was placed; it is no longer there.
    pub(crate) fn pin(&mut self, block: BlockId, leaf: Leaf) -> Option<Placed> {
        self.pinned.push((block, leaf));
        self.take_back(block)
    }

    /// Takes a block back from the rewrite that placed it: it stays in the stash. Returns where it was placed.
    pub(crate) fn take_back(&mut self, block: BlockId) -> Option<Placed> {
        self.rewrites.iter_mut().find_map(|Rewrite { placed, .. }| {
            let at = placed.iter().position(|placed| placed.block == block)?;
            Some(placed.swap_remove(at))
        })
    }

    /// The leaf of a block that is pinned.
    pub(crate) fn pinned_to(&self, block: BlockId) -> Option<Leaf> {
        self.pinned.iter().find(|(pinned, _)| *pinned == block).map(|(_, leaf)| *leaf)
    }

    /// Ends the pins of a batch that is served: its blocks may be placed again.
    pub(crate) fn unpin(&mut self) {
        self.pinned.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(block: u64) -> Placed {
        Placed { block: BlockId(block), level: Level(0), slot: Slot { bucket: Bucket(1), index: 0 } }
    }

    #[test]
    fn a_bucket_is_in_flight_from_its_reading_to_the_end_of_its_writing() {
        let mut flight = InFlight::none();
        flight.begin_round([Bucket(1)].into_iter());
        let round = flight.round_of(Bucket(1)).unwrap();
        assert!(flight.lasts(round) && flight.has(Bucket(1)) && flight.round_of(Bucket(2)).is_none());
        assert_eq!(flight.rewrite([placed(7), placed(8)].into()), round);
        assert!(!flight.lasts(round) && flight.has(Bucket(1)));
        assert_eq!((flight.rewrites(), flight.placed()), (1, 2));
        assert_eq!(flight.written(round).map(|placed| placed.block.0).collect::<Vec<_>>(), [7, 8]);
        assert!(!flight.has(Bucket(1)));
    }

    #[test]
    fn a_block_that_is_pinned_is_placed_nowhere() {
        let mut flight = InFlight::none();
        flight.begin_round([Bucket(1)].into_iter());
        let round = flight.rewrite([placed(7), placed(8)].into());
        assert!(!flight.is_free(BlockId(7)) && flight.is_free(BlockId(9)));
        assert!(flight.pin(BlockId(7), Leaf(3)).is_some());
        assert!(flight.pin(BlockId(9), Leaf(4)).is_none());
        assert_eq!(flight.pinned_to(BlockId(7)), Some(Leaf(3)));
        assert_eq!(flight.written(round).count(), 1, "only the other one leaves the stash");
        assert!(!flight.is_free(BlockId(7)) && !flight.is_free(BlockId(9)));
        flight.unpin();
        assert!(flight.is_free(BlockId(7)));
    }
}
