//! The tail bound of Ring ORAM's stash: a bound on the probability of a filling, computed for any parameters.
//!
//! Let `held` be the number of blocks in the stash. For every θ > 0, Chernoff's bound says that
//! `P(held >= r) <= E[e^(θ held)] / e^(θ r)`. The blocks on the trusted side are a sum of three parts, and so is the
//! logarithm of that expectation:
//!
//! - **Waiting**: a block waits from its access to the next eviction of its subtree. Its leaf is uniform, and evictions
//!   go through the T = 2^top subtrees in turn. So a block that was accessed e evictions ago still waits with
//!   probability `1 - e/T`, independently of the others. At the worst time of the schedule the newest `2A - 1` accesses
//!   had no eviction at all. An access whose block was requested again since has no such coin.
//! - **Overflow**: what a subtree's buckets cannot hold. It exceeds R only if blocks overfill some connected set of
//!   buckets that includes the subtree's root: more blocks belong in the set than R plus the sum of its Z (Ring ORAM,
//!   Lemma 1). On average A/2 blocks belong in an inner bucket, and the leaf's share in a leaf (section 4.2). The sum
//!   over all sets is taken along the tree, level by level, for the depth and the leaf buckets that there are.
//! - **Compaction**: blocks read instead of dummies. After c blocks were written into a bucket of s slots, and after x
//!   reads for blocks that were not in it, `max(c + x - s, 0)` have come. If a leaf bucket is read for a block that was
//!   not in it, that block was requested since the bucket was written. So the read took a coin of the first kind away.
//!
//! How often blocks are requested again decides between the first part and the third. The newest accesses are those of
//! one turn of the subtrees. h of them are to blocks that were not requested again. The bound is the greatest one over
//! all h. If only leaf buckets are in the store, a coin makes up for every block that is read instead of a dummy. Then
//! the third part is 0. This is a proof for every sequence. `docs/how-it-works/stash.md` has the argument, and what is
//! assumed if there are inner buckets.

use super::exponents::{SCALES, ScaledExponent, exponents, min, scaled};
use super::parameters::{RingBucket, RingParameters};
use super::poisson::Threshold;
use core::f64::consts::LN_2;

/// The maximum numbers of groups in sums over the subtrees, and over the buckets of a subtree. All members of a group
/// count as the one that is evicted last.
const GROUPS: f64 = 8.0;

/// The parts of a turn of the subtrees, of which the last this many were requested again: more is dense where it
/// matters.
const REPEATS: [f64; 10] = [0.0, 0.03, 0.07, 0.12, 0.18, 0.26, 0.36, 0.5, 0.7, 1.0];

/// The maximum number of slots of a bucket, and of accesses for an eviction, for which the bound is computed. Larger
/// values have no use, and would take long.
const MAX_SLOTS: f64 = 1_048_576.0;

/// The maximum of the probability of a sum of coins, times the deviation of the sum.
const MAX_BY_DEVIATION: f64 = 0.46883;

impl RingParameters {
    /// Returns the log2 of a bound on the probability that the next batch needs an emergency eviction. It holds for
    /// every access sequence, at the worst time of the schedule of a full vault. It is computed from the parameters
    /// (see the bound and its assumptions in `stash_bound.rs`). Negative infinity if no more blocks exist than the
    /// stash can hold.
    pub fn emergency_log2(&self) -> f64 {
        let room = self.stash_bound.saturating_sub(self.max_batch);
        if u64::from(room) >= self.capacity {
            return f64::NEG_INFINITY;
        }
        StashBound::of(self).log2_tail(f64::from(room) + 1.0)
    }
}

/// A bound on the blocks in the stash of a full vault, at the worst time of the schedule.
pub(crate) struct StashBound {
    /// A.
    rate: f64,
    /// T, subtrees of the trusted tree top.
    subtrees: f64,
    /// Untrusted levels above the leaves.
    inner_levels: u32,
    inner: Room,
    leaf: Room,
}

/// The room of a bucket.
struct Room {
    /// Z.
    blocks: Threshold,
    slots: Threshold,
    /// The average number of blocks that the bucket should hold.
    load: f64,
}

impl Room {
    /// A bound on `E[e^(θ (Y - Z))]`, where Y is what it is asked to hold: Poisson with this mean.
    fn weight(&self, theta: f64, load: f64) -> f64 {
        libm::exp(load * libm::expm1(theta) - theta * self.blocks.number())
    }
}

impl StashBound {
    pub(crate) fn of(parameters: &RingParameters) -> Self {
        let rate = f64::from(parameters.eviction_rate);
        let room = |bucket: RingBucket, load| Room {
            blocks: Threshold::of(bucket.blocks),
            slots: Threshold::of(bucket.slots),
            load,
        };
        StashBound {
            rate,
            subtrees: libm::exp2(parameters.top.0.into()),
            inner_levels: parameters.leaf_level.0 - parameters.top.0,
            inner: room(parameters.inner, rate / 2.0),
            leaf: room(
                parameters.leaf,
                parameters.capacity as f64 / libm::exp2(parameters.leaf_level.0.into()),
            ),
        }
    }

    /// The smallest number of blocks that the trusted side holds with a probability of at most 2^-bits.
    pub(crate) fn min_filling(&self, bits: f64) -> f64 {
        min(|theta| (bits * LN_2 + self.log_moment(theta, f64::INFINITY)) / theta)
    }

    /// Returns whether the trusted side holds this many blocks with a probability of at most 2^-bits, by a coarser
    /// search for the bound.
    pub(crate) fn fills_at_most(&self, blocks: f64, bits: f64) -> bool {
        let is_enough = |value: f64| value <= -bits * LN_2;
        // If the waiting blocks are already too many, nothing else must be checked.
        exponents().filter(|theta| is_enough(self.log_waiting(*theta, 1.0) - theta * (blocks + 1.0))).any(
            |theta| {
                let limit = theta * (blocks + 1.0) - bits * LN_2;
                self.log_moment(theta, limit) <= limit
            },
        )
    }

    /// Returns the same bound as [`min_filling`](Self::min_filling), but only for blocks that wait for their turn. It
    /// is lower.
    pub(crate) fn min_waiting(&self, bits: f64) -> f64 {
        min(|theta| (bits * LN_2 + self.log_waiting(theta, 1.0)) / theta)
    }

    /// The log2 of a bound on the probability that the trusted side holds this many blocks.
    pub(crate) fn log2_tail(&self, blocks: f64) -> f64 {
        (min(|theta| self.log_moment(theta, f64::INFINITY) - theta * blocks) / LN_2).min(0.0)
    }

    /// The log2 of a bound on the probability that there are this many blocks more than wait for their turn.
    #[cfg(feature = "testing")]
    pub(crate) fn log2_excess_tail(&self, blocks: f64) -> f64 {
        let log_moment = |theta| {
            let repeats = self.repeats(0.0);
            let none = f64::INFINITY;
            self.overflow(theta, repeats)
                + self.inner_compaction(theta, repeats, none)
                + self.leaf_compaction(theta, 0.0, none)
        };
        (min(|theta| log_moment(theta) - theta * blocks) / LN_2).min(0.0)
    }

    /// The bound on `ln (P(held >= r) e^(θ r))`. It is infinite if there is no bound. Above the limit, the result is
    /// some number above the limit.
    fn log_moment(&self, theta: f64, limit: f64) -> f64 {
        let slots = self.inner.slots.number().max(self.leaf.slots.number());
        if self.rate < 1.0 || self.rate.max(slots) > MAX_SLOTS {
            return f64::INFINITY;
        }
        if self.inner_levels == 0 {
            let overflow = self.leaf.blocks.log_moment(self.leaf.load, theta).0;
            return self.log_waiting(theta, 1.0) + self.subtrees * overflow;
        }
        if !self.newest_first(theta) {
            return f64::INFINITY;
        }
        let (newest, round) = (2.0 * self.rate - 1.0, self.rate * self.subtrees);
        // The number of blocks in addition to those that wait, if this many accesses are not repeated.
        let other = |not_repeated: f64, limit: f64| {
            let repeats = self.repeats(not_repeated);
            let mut sum = self.overflow(theta, repeats);
            if sum <= limit {
                sum += self.leaf_compaction(theta, not_repeated, limit - sum);
            }
            if sum <= limit {
                sum += self.inner_compaction(theta, repeats, limit - sum);
            }
            if sum.is_nan() { f64::INFINITY } else { sum }
        };
        let mut max = f64::NEG_INFINITY;
        let mut max_other = None;
        // Between two numbers of accesses not repeated, the greater one waits and the lesser one is compacted by.
        for (nth, part) in REPEATS.iter().enumerate() {
            let waiting = self.log_waiting(theta, self.whole(1.0 - part));
            // The fewer blocks wait, the more come in addition. As soon as the most of that is too little, so it is
            // with the rest.
            if nth > 0 && waiting + *max_other.get_or_insert_with(|| other(0.0, f64::INFINITY)) <= max {
                break;
            }
            let next = REPEATS.get(nth + 1);
            let fewer = next.map_or(0.0, |next| newest + self.whole(1.0 - next) * round);
            let sum = waiting + other(fewer, limit - waiting);
            if sum > limit {
                return sum;
            }
            max = f64::max(max, sum);
        }
        max
    }

    /// The coins, and what Chernoff's bound leaves out. Weighted with e^(θ c), the number C of coins is again a sum of
    /// independent coins, with variance v. So no c has a weight above `m = 0.46883 / √v`:
    ///
    /// - A probability of C is at most the mean of the absolute value of its characteristic function. For a coin p,
    ///   that is `√(1 - 2 p (1 - p) (1 - cos t)) <= e^(-p (1 - p) (1 - cos t))`; for all coins, it is `e^(-v (1 - cos
    ///   t))`. The mean of that over t is `e^-v I0(v)`, and `√v e^-v I0(v)` is nowhere above 0.46883.
    /// - For whole numbers n, `E[max(C - n, 0)] <= m E[e^(θ C)] Σ_(c > n) (c - n) e^(-θ c)`, and that sum is `e^(-θ n)
    ///   e^-θ / (1 - e^-θ)²`. The mean of a convex function of C and other parts is greatest if they are independent.
    ///   Parts that hinder each other have a smaller mean. So `E[max(C + X - n, 0)]` is at most the same for `n
    ///   - X`, which has `E[e^(θ X)]` as a factor.
    /// - For a whole k, `P(C + X >= r) <= E[max(C + X - (r - k), 0)] / k`: the best k is near 1/θ.
    fn log_waiting(&self, theta: f64, part: f64) -> f64 {
        // Less one turn's coins, so that the sum has no less than the integral.
        let variance = self.rate * (self.subtrees * self.weighted_variance(theta, part) - 0.25).max(0.0);
        let (fall, k) = (-libm::expm1(-theta), libm::round(1.0 / theta).max(1.0));
        let sum = -theta - 2.0 * libm::log(fall) + theta * k - libm::log(k);
        self.waiting(theta, part) + (libm::log(MAX_BY_DEVIATION / libm::sqrt(variance)) + sum).min(0.0)
    }

    /// The integral of `p e^θ (1 - p) / (1 + p (e^θ - 1))²` over p from `1 - part` to 1.
    fn weighted_variance(&self, theta: f64, part: f64) -> f64 {
        let growth = libm::expm1(theta);
        let left = (1.0 - part) * growth;
        // With v = 1 + p (e^θ - 1).
        let primitive = |v: f64| (growth + 2.0) * libm::log(v) - v + (growth + 1.0) / v;
        libm::exp(theta) / (growth * growth * growth) * (primitive(1.0 + growth) - primitive(1.0 + left))
    }

    /// A part of the turn as a whole number of evictions.
    fn whole(&self, part: f64) -> f64 {
        libm::ceil(part * self.subtrees) / self.subtrees
    }

    /// The coins of the newest `2A - 1` accesses and of this part of a turn before them. The sum has no more than its
    /// integral by the trapezoid rule, as the logarithm is concave.
    fn waiting(&self, theta: f64, part: f64) -> f64 {
        let growth = libm::expm1(theta);
        let last = libm::log1p((1.0 - part) * growth);
        let primitive = |log: f64| libm::exp(log) * (log - 1.0);
        let integral = (primitive(theta) - primitive(last)) / growth;
        (2.0 * self.rate - 1.0) * theta + self.rate * (self.subtrees * integral + (last - theta) / 2.0)
    }

    /// The sum over the connected sets that have a given bucket as their root. The bucket is this many levels above the
    /// leaves. Below it, a set is empty or has the root of the subtree.
    fn sets(&self, theta: f64, repeats: f64, levels: u32) -> f64 {
        let leaf = self.leaf.weight(theta, self.leaf.load);
        (0..levels).fold(leaf, |sets, _| self.sets_above(sets, theta, repeats))
    }

    /// The sum for the bucket above a bucket with this sum.
    fn sets_above(&self, sets: f64, theta: f64, repeats: f64) -> f64 {
        if sets > 1e9 {
            return f64::INFINITY;
        }
        self.inner.weight(theta, self.inner.load * (1.0 + repeats)) * (1.0 + sets) * (1.0 + sets)
    }

    /// The blocks that the buckets of all subtrees cannot hold.
    fn overflow(&self, theta: f64, repeats: f64) -> f64 {
        let best = scaled(theta, |theta| self.sets(theta, repeats, self.inner_levels));
        self.subtrees * libm::log1p(best)
    }

    /// The blocks that are read instead of a dummy, for each access: they come down once more.
    fn repeats(&self, not_repeated: f64) -> f64 {
        let leaves = self.subtrees * libm::exp2(self.inner_levels.into());
        let misses = (self.rate - not_repeated / leaves).max(0.0);
        let leaf = self.leaf.slots.mean_excess(self.leaf.load + misses) / self.rate;
        let inner = self.inner.slots.mean_excess(self.inner.load * (1.0 + leaf) + self.rate) / self.rate;
        leaf + f64::from(self.inner_levels) * inner
    }

    /// Sums over the buckets of a level, which is `depth` levels below the subtrees' roots. `of` gets the number of
    /// accesses since the eviction of the subtree, and since that of the bucket. If the sum exceeds the limit, it ends
    /// early with some number above the limit.
    fn over_buckets(&self, depth: u32, limit: f64, of: impl Fn(f64, f64) -> f64) -> f64 {
        let round = self.rate * self.subtrees;
        let below = libm::exp2(depth.into());
        let (groups, rounds) = (self.subtrees.min(GROUPS), below.min(GROUPS));
        let counts = self.subtrees * below / (groups * rounds);
        let mut sum = 0.0;
        // The oldest first: they give the most.
        for rounds_ago in (1..=rounds as u32).rev() {
            for group in (1..=groups as u32).rev() {
                let evictions = self.subtrees / groups * f64::from(group) - 1.0;
                let since = 2.0 * self.rate - 1.0 + evictions * self.rate;
                let before = below / rounds * f64::from(rounds_ago) - 1.0;
                sum += counts * of(since, since + before * round);
                if sum > limit {
                    return sum;
                }
            }
        }
        sum
    }

    /// The blocks that the leaf buckets give instead of dummies, if this many of the newest accesses are not repeated.
    fn leaf_compaction(&self, theta: f64, not_repeated: f64, limit: f64) -> f64 {
        let leaves = self.subtrees * libm::exp2(self.inner_levels.into());
        self.over_buckets(self.inner_levels, limit, |since, all| {
            let misses = (all - not_repeated).max(0.0) / leaves;
            let recent = misses.min(since / leaves);
            libm::log1p(self.leaf.slots.growth(self.leaf.load + misses - recent, recent, theta))
        })
    }

    /// The blocks that the inner buckets give instead of dummies. In the worst case, all of their reads are for blocks
    /// that were not in them.
    fn inner_compaction(&self, theta: f64, repeats: f64, limit: f64) -> f64 {
        let slots = &self.inner.slots;
        let scaled = SCALES.map(|times| ScaledExponent::new(times, theta));
        // The sets of buckets below a level, for each exponent: from the lowest level up.
        let mut sets = scaled.each_ref().map(|scaled| self.sets(scaled.theta, repeats, 0));
        let mut sum = 0.0;
        for depth in (0..self.inner_levels).rev() {
            let buckets = self.subtrees * libm::exp2(depth.into());
            // What the buckets below cannot hold takes room in this one.
            let mut logs = [0.0; SCALES.len()];
            for ((log, scaled), sets) in logs.iter_mut().zip(&scaled).zip(&sets) {
                *log = scaled.log_part + libm::log(sets * (2.0 + sets)) - scaled.theta * slots.number();
            }
            sum += self.over_buckets(depth, limit - sum, |since, all| {
                let mean = self.inner.load * (1.0 + repeats) + all / buckets;
                let moments = scaled.iter().zip(&logs).map(|(scaled, log)| mean * scaled.growth + log);
                let more = libm::exp(moments.fold(f64::INFINITY, f64::min));
                let recent = since / buckets;
                libm::log1p(slots.growth(mean - recent, recent, theta) + more)
            });
            if sum > limit {
                return sum;
            }
            for (sets, scaled) in sets.iter_mut().zip(&scaled) {
                *sets = self.sets_above(*sets, scaled.theta, repeats);
            }
        }
        sum
    }

    /// Returns whether more blocks wait if the newest accesses are the ones that are not repeated. The blocks that a
    /// leaf bucket gives since its eviction grow more slowly than coins are lost.
    fn newest_first(&self, theta: f64) -> bool {
        let below = libm::exp2(self.inner_levels.into());
        let max = (self.subtrees + 1.0) * self.rate / (self.subtrees * below);
        let (_, part) = self.leaf.slots.log_moment(self.leaf.load + max, theta);
        part <= below * libm::exp(-theta)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// The distribution of the sum of two independent numbers.
    pub(in super::super) fn sum(one: &[f64], other: &[f64]) -> Vec<f64> {
        let mut distribution = vec![0.0; one.len() + other.len() - 1];
        for (first, p) in one.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            for (second, q) in other.iter().enumerate() {
                distribution[first + second] += p * q;
            }
        }
        distribution
    }

    /// The exact distribution of the coins of the newest `2A - 1` accesses, and of the accesses of this many evictions
    /// before them.
    fn coins(rate: u32, subtrees: u32, evictions: u32) -> Vec<f64> {
        let mut distribution = vec![0.0; 2 * rate as usize];
        distribution[2 * rate as usize - 1] = 1.0;
        for eviction in 1..=evictions.min(subtrees - 1) {
            let waits = 1.0 - f64::from(eviction) / f64::from(subtrees);
            for _ in 0..rate {
                distribution = sum(&distribution, &[1.0 - waits, waits]);
            }
        }
        distribution
    }

    /// The exact distribution of the number of blocks that do not fit a bucket, if their number is Poisson.
    pub(in super::super) fn excess(load: f64, blocks: u32) -> Vec<f64> {
        let mut distribution = vec![0.0; 200];
        let mut p = libm::exp(-load);
        for value in 0..blocks as usize + distribution.len() {
            distribution[value.saturating_sub(blocks as usize)] += p;
            p *= load / (value as f64 + 1.0);
        }
        distribution
    }

    pub(in super::super) fn from(distribution: &[f64], value: usize) -> f64 {
        libm::log2(distribution.iter().skip(value).sum())
    }

    #[test]
    fn the_bound_on_leaves_alone_is_above_the_exact_tail_and_near_it() {
        for (capacity, trusted) in [(1024, 512), (4096, 1024), (4096, 1500)] {
            let planned = RingParameters::for_capacity(capacity, 0, trusted, 16);
            assert_eq!(planned.top, planned.leaf_level, "{planned:?}");
            let (subtrees, bound) = (1 << planned.top.0, StashBound::of(&planned));
            let load = capacity as f64 / f64::from(subtrees);
            let mut exact = coins(planned.eviction_rate, subtrees, subtrees);
            for _ in 0..subtrees {
                exact = sum(&exact, &excess(load, planned.leaf.blocks));
                exact.truncate(2000);
            }
            for bits in [10.0, 40.0, 80.0] {
                let value = libm::ceil(bound.min_filling(bits));
                let (computed, exact) = (bound.log2_tail(value), from(&exact, value as usize));
                assert!(computed <= -bits + 0.01, "2^{computed:.1} for {bits}");
                assert!(exact <= computed && exact > computed - 6.0, "2^{exact:.1} and 2^{computed:.1}");
            }
        }
    }

    #[test]
    fn the_bound_on_coins_is_above_their_exact_tail_and_near_it() {
        for (rate, top, part) in [(4, 3, 1.0), (40, 4, 1.0), (40, 4, 0.5), (11, 6, 0.25)] {
            let planned = RingParameters {
                eviction_rate: rate,
                top: crate::types::Level(top),
                ..RingParameters::for_capacity(4096, 0, 512, 16)
            };
            let (bound, subtrees) = (StashBound::of(&planned), 1 << top);
            let exact = coins(rate, subtrees, (part * f64::from(subtrees)) as u32);
            for bits in [20.0, 60.0] {
                let filling = min(|theta| (bits * LN_2 + bound.log_waiting(theta, part)) / theta);
                let exact = from(&exact, libm::ceil(filling) as usize);
                assert!(exact <= -bits, "2^{exact:.1} for {bits}: {rate}, {top}, {part}");
                assert!(
                    exact > -bits - 7.0 || exact == f64::NEG_INFINITY,
                    "2^{exact:.1} for {bits}: {rate}, {top}, {part}"
                );
            }
        }
    }

    #[test]
    fn the_variance_of_weighted_coins_is_that_of_their_sum() {
        let bound = StashBound::of(&RingParameters::for_capacity(4096, 0, 512, 16));
        for (theta, part) in [(0.05, 1.0), (0.5, 1.0), (0.5, 0.3), (2.0, 0.7)] {
            let steps = 100_000;
            let variance = |step: u32| {
                let p = 1.0 - part + part * (f64::from(step) + 0.5) / f64::from(steps);
                let weighted = p * libm::exp(theta) / (1.0 + p * libm::expm1(theta));
                weighted * (1.0 - weighted) * part / f64::from(steps)
            };
            let exact: f64 = (0..steps).map(variance).sum();
            let computed = bound.weighted_variance(theta, part);
            assert!((computed - exact).abs() < 1e-6, "{computed} and {exact} for {theta}, {part}");
        }
    }

    #[test]
    fn no_probability_of_a_sum_of_coins_is_above_the_constant_by_its_deviation() {
        // √v e^-v I0(v), by the series of I0.
        for nth in 1..2000 {
            let v = f64::from(nth) * 0.02;
            let (mut term, mut series, mut k) = (1.0, 1.0, 1.0);
            while term > 1e-16 * series {
                term *= v * v / 4.0 / (k * k);
                series += term;
                k += 1.0;
            }
            let max = libm::sqrt(v) * libm::exp(-v) * series;
            assert!(max <= MAX_BY_DEVIATION, "{max} at {v}");
        }
    }
}
