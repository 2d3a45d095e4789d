//! Simulates how many blocks wait on Path ORAM's trusted side: a full vault, looked at after every write-back.

use super::array_store::ArrayStore;
use super::executor::finish_now;
use super::stash_tail::{ExponentialFit, Reads};
use crate::oram::{Access, Oram};
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::schemes::path::{PathOram, PathParameters};
use crate::types::{BlockId, Bucket, Level};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The times of the write-backs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBacks {
    /// The paths are written back after every single access.
    Promptly,
    /// The paths are written back as late as a driver may wait. That is one access before a batch would be full, and
    /// then a full batch follows.
    Late,
}

/// The results of a simulation, after it had come to its steady state.
#[derive(Clone, Debug, Default)]
pub struct PathTail {
    /// The number of times that this many blocks waited, looked at after each write-back.
    pub held: BTreeMap<i64, u64>,
    /// The number of times that this many blocks waited for one subtree, summed over all subtrees.
    pub subtree: BTreeMap<i64, u64>,
    /// The number of blocks written back, for each access.
    pub written_back: f64,
}

/// The parameters of a full vault over 2^top untrusted subtrees of this many levels: its tree is half full. They are
/// not validated, and the bound of the stash is so high that it has no effect.
pub fn full_vault(blocks_per_bucket: u32, levels: u32, top: u32) -> PathParameters {
    let leaf_level = top + levels - 1;
    let half = u64::from(blocks_per_bucket) << leaf_level;
    let slots = u64::from(blocks_per_bucket) * ((2 << leaf_level) - 1);
    PathParameters {
        capacity: half.min(slots - slots / 4),
        block_bytes: 0,
        leaf_level: Level(leaf_level),
        top: Level(top),
        blocks_per_bucket,
        max_batch: 16,
        stash_bound: 1 << 24,
    }
}

/// The log2 of the probability that more blocks wait than the planned bound makes room for.
///
/// The distribution of the blocks that wait for one subtree. Up to the last value that `min` samples reached it is
/// measured; beyond that it follows a straight line through the tail. The sum over all subtrees treats them as
/// independent. `None` if too little was measured.
pub fn emergency_log2(parameters: &PathParameters, tail: &PathTail, min: u64) -> Option<f64> {
    let max = parameters.waiting_bound() as usize + 1;
    let n: u64 = tail.subtree.values().sum();
    let fit = ExponentialFit::of(&tail.subtree, min)?;
    let at_least = |value: usize| {
        if value as f64 > fit.last.0 {
            return libm::exp2(fit.log2(value as f64));
        }
        tail.subtree.range(value as i64..).map(|(_, times)| times).sum::<u64>() as f64 / n as f64
    };
    // The probability of each number of blocks. The last place has the probability of all larger numbers.
    let above = (0..=max).map(at_least);
    let mut distribution: Vec<f64> =
        above.clone().zip(above.skip(1).chain([0.0])).map(|(at, next)| at - next).collect();
    for _ in 0..parameters.top.0 {
        distribution = twice(&distribution);
    }
    distribution.last().map(|too_many| libm::log2(*too_many))
}

/// The distribution of the sum of two independent numbers.
fn twice(distribution: &[f64]) -> Vec<f64> {
    let max = distribution.len() - 1;
    let mut sums = vec![0.0; distribution.len()];
    for (one, p) in distribution.iter().enumerate() {
        for (other, q) in distribution.iter().enumerate() {
            sums[(one + other).min(max)] += p * q;
        }
    }
    sums
}

/// Runs this many reads, after eight times the capacity to warm up. The parameters need not be valid.
///
/// # Panics
/// If the stash comes to its bound.
pub fn simulate(
    parameters: &PathParameters,
    reads: Reads,
    write_backs: WriteBacks,
    accesses: u64,
    seed: u64,
) -> PathTail {
    let capacity = parameters.capacity;
    let store = ArrayStore::new(&parameters.layout());
    let positions = FlatPositionMap::new(Positions::new(capacity));
    let random = ChaCha8Rng::seed_from_u64(seed);
    let oram = PathOram::unchecked(parameters.clone(), Bucket(0), store, positions, random);
    let mut choose = ChaCha8Rng::seed_from_u64(!seed);
    let batches = match write_backs {
        WriteBacks::Promptly => vec![1],
        WriteBacks::Late => vec![parameters.max_batch as u64 - 1, parameters.max_batch.into()],
    };
    let mut nothing: Vec<[u8; 0]> = vec![[]; parameters.max_batch as usize];
    let (mut tail, mut at, mut moved, warm) = (PathTail::default(), 0, 0, 8 * capacity);
    while at < warm + accesses {
        for batch in batches.iter().copied() {
            let requested = (at..at + batch).zip(&mut nothing).map(|(nth, into)| {
                match reads.block(nth, capacity, &mut choose) {
                    Some(block) => Access::Read(BlockId(block), into),
                    None => Access::Dummy,
                }
            });
            finish_now(oram.access(&mut requested.collect::<Vec<_>>())).expect("the access");
            at += batch;
        }
        let before = oram.stash_blocks();
        while oram.pending_steps() > 0 {
            finish_now(oram.step()).expect("the write-back");
        }
        if at > warm {
            moved += before - oram.stash_blocks();
            *tail.held.entry(oram.stash_blocks() as i64).or_default() += 1;
            for waiting in oram.waiting() {
                *tail.subtree.entry(waiting as i64).or_default() += 1;
            }
        }
    }
    assert_eq!(oram.emergencies(), 0, "the bound is out of the way");
    tail.written_back = moved as f64 / accesses as f64;
    tail
}
