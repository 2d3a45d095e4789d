//! The law of Ring ORAM's stash: how improbable a filling is, computed for any parameters.
//!
//! For every θ > 0, Chernoff's bound says that `P(held >= r) <= E[e^(θ held)] / e^(θ r)`. The blocks on the trusted
//! side are a sum of three parts, and so is the logarithm of that expectation:
//!
//! - **Waiting**: a block waits from its access to the next eviction of its subtree, whatever is asked. Its leaf is
//!   uniform and evictions go through the T = 2^top subtrees in turn, so a block accessed e evictions ago still waits
//!   with probability `1 - e/T`, independently of the others. At the worst time of the schedule the newest `2A - 1`
//!   accesses had no eviction at all.
//! - **Overflow**: what a subtree's buckets cannot hold. It exceeds R only if some connected set of n buckets, the
//!   subtree's root among them, is asked to hold more than its Z's and R (Ring ORAM, Lemma 1 and section 4.2: A/2 blocks
//!   on average for an inner bucket, the leaf's share for a leaf). The sum over all sets is taken along the tree, level
//!   by level, for the depth and the leaf buckets that there are.
//! - **Compaction**: blocks read in place of dummies, from buckets with fewer than Z + S slots. They wait like the
//!   blocks that were asked for.
//!
//! Waiting and overflow are bounds that hold for every sequence of accesses: each block is in one place at a time, and
//! blocks choose their leaves independently. For compaction, the reads of a bucket and its blocks are taken as
//! independent Poisson variables, and buckets as independent of each other; reshuffles, which place blocks before their
//! turn, are not credited. `examples/stash_tail.rs` measures how far that is from what happens.

use super::parameters::{RingBucket, RingParameters};
use alloc::vec;
use alloc::vec::Vec;
use core::f64::consts::LN_2;

/// A bound on the law of the stash of a full vault, at the worst time of the schedule.
pub(crate) struct StashLaw {
    /// A.
    rate: f64,
    /// T, subtrees of the trusted tree top.
    subtrees: f64,
    /// Untrusted levels above the leaves.
    inner_levels: u32,
    /// Z of inner buckets, and the blocks that one is asked to hold on average.
    inner: (f64, f64),
    /// Z of leaf buckets, and the blocks that one is asked to hold on average.
    leaf: (f64, f64),
    /// For each untrusted level, from the top: the law of the blocks that a bucket gives in place of dummies between
    /// two evictions.
    compacted: Vec<Vec<f64>>,
}

impl StashLaw {
    pub(crate) fn of(parameters: &RingParameters) -> Self {
        let rate = f64::from(parameters.eviction_rate);
        let inner_levels = parameters.leaf_level.0 - parameters.top.0;
        let share = parameters.capacity as f64 / libm::exp2(parameters.leaf_level.0.into());
        let reads = Poisson::of(rate);
        let law = |bucket, load, is_near| compaction(parameters, bucket, &reads, &Poisson::of(load), is_near);
        // Near the root, a whole batch may read one bucket before it is reshuffled; elsewhere two reads more are rare.
        let is_near = |level: u32| libm::exp2(level.into()) < 2.0 * f64::from(parameters.max_batch);
        let [far, near] = [false, true].map(|near| law(parameters.inner, rate / 2.0, near));
        let inner = (parameters.top.0..parameters.leaf_level.0)
            .map(|level| if is_near(level) { near.clone() } else { far.clone() });
        let leaf = law(parameters.leaf, share, is_near(parameters.leaf_level.0));
        let compacted: Vec<Vec<f64>> = inner.chain([leaf]).collect();
        // A block read in place of a dummy comes down once more.
        let again: f64 = compacted.iter().map(|law| mean(law) / rate).sum();
        StashLaw {
            rate,
            subtrees: libm::exp2(parameters.top.0.into()),
            inner_levels,
            inner: (parameters.inner.blocks.into(), rate / 2.0 * (1.0 + again)),
            leaf: (parameters.leaf.blocks.into(), share),
            compacted,
        }
    }

    /// The blocks that wait for their turn on average, at the worst time of the schedule.
    pub(crate) fn waiting_mean(&self) -> f64 {
        2.0 * self.rate - 1.0 + self.rate * (self.subtrees - 1.0) / 2.0
    }

    /// The least number of blocks that are there with a probability of at most 2^-bits.
    pub(crate) fn least_filling(&self, bits: f64) -> f64 {
        least(|theta| (bits * LN_2 + self.log_moment(theta)) / theta)
    }

    /// The log2 of a bound on the probability that so many blocks are there.
    pub(crate) fn log2_tail(&self, blocks: f64) -> f64 {
        (least(|theta| self.log_moment(theta) - theta * blocks) / LN_2).min(0.0)
    }

    /// The log2 of a bound on the probability that there are so many blocks more than wait for their turn.
    #[cfg(feature = "testing")]
    pub(crate) fn log2_excess_tail(&self, blocks: f64) -> f64 {
        let log_moment = |theta| self.overflow(theta) + self.compaction(theta);
        (least(|theta| log_moment(theta) - theta * blocks) / LN_2).min(0.0)
    }

    /// The bound on `ln E[e^(θ held)]`; infinite where there is none.
    fn log_moment(&self, theta: f64) -> f64 {
        self.waiting(theta) + self.overflow(theta) + self.compaction(theta)
    }

    /// The coins' sum has no more than its integral by the trapezoid rule, as the logarithm is concave.
    fn waiting(&self, theta: f64) -> f64 {
        let integral = theta / -libm::expm1(-theta) - 1.0;
        (2.0 * self.rate - 1.0) * theta + self.rate * (self.subtrees * integral - theta / 2.0)
    }

    /// The sum over the sets of buckets, from the leaves up: a set below a bucket is empty or has its root.
    fn overflow(&self, theta: f64) -> f64 {
        let growth = libm::expm1(theta);
        let weight = |(blocks, load): (f64, f64)| libm::exp(load * growth - theta * blocks);
        let inner = weight(self.inner);
        let mut sets = weight(self.leaf);
        for _ in 0..self.inner_levels {
            if sets > 1e9 {
                return f64::INFINITY;
            }
            sets = inner * (1.0 + sets) * (1.0 + sets);
        }
        self.subtrees * libm::log1p(sets)
    }

    /// The clusters of blocks that buckets give in place of dummies: towards the end of its turn, a bucket whose dummies
    /// have run out gives c blocks in a row, of which those count that were read while blocks wait. The clusters of a
    /// level are taken as a Poisson number.
    fn compaction(&self, theta: f64) -> f64 {
        let growth = libm::exp(theta);
        let level = |(level, law): (usize, &Vec<f64>)| {
            let buckets = self.subtrees * libm::exp2(level as f64);
            // Reads of a bucket while a block waits, and that time as a part of the bucket's turn.
            let reads = self.waiting_mean() / buckets;
            let window = reads / self.rate;
            let (mut at_least, mut p_reads) = (1.0, libm::exp(-reads));
            let (mut sum, mut more, mut expected) = (0.0, growth - 1.0, 0.0);
            for (p, blocks) in law.iter().zip(1..).map(|(p, blocks)| (p, f64::from(blocks))) {
                // The expectation of e^(θ min(blocks, reads)) - 1, from that of one block less.
                at_least = f64::max(at_least - p_reads, 0.0);
                expected += at_least * more;
                sum += p * f64::max(window, blocks / self.rate) * expected;
                p_reads *= reads / blocks;
                more *= growth;
            }
            buckets * sum
        };
        self.compacted.iter().enumerate().map(level).sum()
    }
}

/// The probabilities that a bucket gives 1, 2, .. blocks in place of dummies between two evictions: as many as its reads
/// and its blocks exceed its slots. `reads` and `blocks` are the laws of both.
fn compaction(
    parameters: &RingParameters,
    bucket: RingBucket,
    reads: &Poisson,
    blocks: &Poisson,
    is_near: bool,
) -> Vec<f64> {
    let overshoot = if is_near { parameters.max_batch } else { parameters.max_batch.min(2) };
    let most_reads = parameters.reads_before_reshuffle().saturating_add(overshoot);
    let most = most_reads.saturating_add(bucket.blocks).saturating_sub(bucket.slots) as usize;
    let mut law = vec![0.0; most];
    if most == 0 {
        return law;
    }
    let all_reads = reads.from(most_reads);
    for (held, p) in blocks.values() {
        let dummies = bucket.slots - bucket.blocks.min(held);
        for given in 1..most_reads.saturating_sub(dummies) {
            law[given as usize - 1] += p * reads.at(dummies + given);
        }
        if dummies < most_reads {
            law[(most_reads - dummies) as usize - 1] += p * all_reads;
        }
    }
    law
}

/// The mean of a law of 1, 2, ..
fn mean(law: &[f64]) -> f64 {
    law.iter().zip(1..).map(|(p, blocks)| p * f64::from(blocks)).sum()
}

/// The law of a Poisson variable, but for values of a probability below 1e-9.
struct Poisson {
    first: u32,
    probabilities: Vec<f64>,
}

impl Poisson {
    fn of(mean: f64) -> Self {
        let spread = 7.0 * libm::sqrt(mean) + 12.0;
        let (first, last) = (libm::floor((mean - spread).max(0.0)) as u32, libm::ceil(mean + spread) as u32);
        let start = f64::from(first);
        let mut p = libm::exp(start * libm::log(mean) - mean - libm::lgamma(start + 1.0));
        let probability = |value: u32| {
            let this = p;
            p *= mean / (f64::from(value) + 1.0);
            this
        };
        Poisson { first, probabilities: (first..=last).map(probability).collect() }
    }

    fn values(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        (self.first..).zip(self.probabilities.iter().copied())
    }

    /// The probability of this value.
    fn at(&self, value: u32) -> f64 {
        value
            .checked_sub(self.first)
            .and_then(|at| self.probabilities.get(at as usize))
            .copied()
            .unwrap_or(0.0)
    }

    /// The probability of this value or more.
    fn from(&self, value: u32) -> f64 {
        self.probabilities.iter().skip(value.saturating_sub(self.first) as usize).sum()
    }
}

/// The least value of a function of θ that falls, then rises, and is infinite from somewhere on. Any θ gives a bound;
/// the best is sought by golden section.
fn least(of: impl Fn(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_895;
    let (mut low, mut high) = (1e-3, 3.0);
    let place = |low: f64, high: f64, part: f64| low + part * (high - low);
    let (mut left, mut right) = (place(low, high, 1.0 - RATIO), place(low, high, RATIO));
    let (mut at_left, mut at_right) = (of(left), of(right));
    for _ in 0..24 {
        // Where both are infinite, the way is down.
        if at_left < at_right || at_right.is_infinite() {
            (high, right, at_right) = (right, left, at_left);
            left = place(low, high, 1.0 - RATIO);
            at_left = of(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = place(low, high, RATIO);
            at_right = of(right);
        }
    }
    at_left.min(at_right)
}
