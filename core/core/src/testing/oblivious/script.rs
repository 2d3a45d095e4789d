//! Access sequences that could hardly differ more.

use super::super::array_model::Operation;
use super::observer::draw_below;
use crate::types::BlockId;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// A way to use an ORAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// Reads one block forever: a batch is that block many times.
    OneBlock,
    /// Reads all blocks in turn.
    Sweep,
    /// Reads blocks at random.
    Random,
    /// Reads blocks at random. The nth block has a weight of 1/n.
    Zipf,
    /// Writes all blocks in turn.
    SweepingWrites,
    /// Reads and writes two blocks in turn: the block that is requested is always in the stash.
    TwoBlocks,
    /// Nothing but dummies.
    Dummies,
    /// Reads blocks that were never written, over and over.
    NeverWritten,
    /// Reads one block, dummies and a sweep in turn.
    Mixed,
}

/// The public side of a sequence: the lengths of its batches.
#[derive(Clone, Copy, Debug)]
pub struct Batches {
    /// The number of batches.
    pub count: usize,
    /// The length of the longest; the others are of any length from 1, drawn from `seed`.
    pub max: usize,
    /// The seed of the lengths, the same for both sequences.
    pub seed: u64,
}

impl Sequence {
    /// Writes the first half of the blocks once, then continues as the sequence does, in batches of these lengths.
    pub fn operations(self, capacity: u64, batches: Batches, seed: u64) -> Vec<Vec<Operation>> {
        self.operations_on((capacity / 2).max(1), capacity, batches, seed)
    }

    /// Does the same as [`operations`](Self::operations), but writes the first `filled` blocks, and uses those.
    pub fn operations_on(
        self,
        filled: u64,
        capacity: u64,
        batches: Batches,
        seed: u64,
    ) -> Vec<Vec<Operation>> {
        let mut lengths = ChaCha8Rng::seed_from_u64(batches.seed);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let filling: Vec<Operation> =
            (0..filled).map(|block| Operation::Write(BlockId(block), block as u8)).collect();
        let mut script: Vec<Vec<Operation>> =
            filling.chunks(batches.max).map(<[Operation]>::to_vec).collect();
        let mut nth = 0;
        for _ in 0..batches.count {
            let length = 1 + draw_below(&mut lengths, batches.max);
            let batch =
                (nth..nth + length as u64).map(|nth| self.operation(nth, filled, capacity, &mut random));
            script.push(batch.collect());
            nth += length as u64;
        }
        script
    }

    fn operation(self, nth: u64, filled: u64, capacity: u64, random: &mut ChaCha8Rng) -> Operation {
        let block = |block: u64| BlockId(block);
        match self {
            Sequence::OneBlock => Operation::Read(block(0)),
            Sequence::Sweep => Operation::Read(block(nth % filled)),
            Sequence::Random => Operation::Read(block(draw_below(random, filled as usize) as u64)),
            Sequence::Zipf => Operation::Read(block(zipf(filled, random))),
            Sequence::SweepingWrites => Operation::Write(block(nth % filled), nth as u8),
            Sequence::TwoBlocks if nth.is_multiple_of(3) => Operation::Write(block(nth % 2), nth as u8),
            Sequence::TwoBlocks => Operation::Read(block(nth % 2)),
            Sequence::Dummies => Operation::Dummy,
            Sequence::NeverWritten => Operation::Read(block((filled + nth % filled).min(capacity - 1))),
            Sequence::Mixed => match nth % 3 {
                0 => Operation::Read(block(0)),
                1 => Operation::Dummy,
                _ => Operation::Read(block(nth % filled)),
            },
        }
    }
}

fn zipf(blocks: u64, random: &mut ChaCha8Rng) -> u64 {
    let total: f64 = (1..=blocks).map(|nth| 1.0 / nth as f64).sum();
    let mut left = draw_below(random, 1 << 30) as f64 / f64::from(1 << 30) * total;
    for nth in 1..blocks {
        left -= 1.0 / nth as f64;
        if left < 0.0 {
            return nth - 1;
        }
    }
    blocks - 1
}
