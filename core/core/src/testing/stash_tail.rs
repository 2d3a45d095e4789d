//! Simulates the number of blocks on Ring ORAM's trusted side in the worst case. A full vault is read in a scan, and
//! evictions come as late as the schedule allows.

use super::executor::Task;
use super::oblivious::observer::draw_below;
use crate::oram::{Access, Oram, OramError};
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::position_map::{Lookup, PositionMap};
use crate::schemes::ring::{RingOram, RingParameters, StashBound};
use crate::store::Store;
use crate::tree::block_header::HEADER_BYTES;
use crate::tree::eviction_schedule::reverse_lexicographic;
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Bucket, Leaf, Slot};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::future::poll_fn;
use core::task::{Poll, Waker};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// The choice of the blocks that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Always the block that was longest unread: no read finds its block in the stash.
    Scan,
    /// Any block.
    Random,
    /// A scan and dummies in turn: an access that brings no block in may still read one instead of a dummy.
    ScanAndDummies,
    /// A scan of the first of this many parts of a full vault, over and over. The other blocks are in the leaves, and
    /// the scanned ones crowd the levels above.
    HotPart(u64),
}

impl Reads {
    /// The block that the read at this place in order is for; `None` is a dummy.
    pub(super) fn block(self, at: u64, capacity: u64, choose: &mut impl RngCore) -> Option<u64> {
        match self {
            Reads::Scan => Some(at % capacity),
            Reads::Random => Some(draw_below(choose, capacity as usize) as u64),
            Reads::ScanAndDummies => at.is_multiple_of(2).then_some(at / 2 % capacity),
            // Scanned as a whole first, so that every block is in the tree.
            Reads::HotPart(_) if at < 2 * capacity => Some(at % capacity),
            Reads::HotPart(parts) => Some(at % (capacity / parts).max(1)),
        }
    }
}

/// The results of a simulation, after it had come to its steady state.
#[derive(Clone, Debug, Default)]
pub struct StashTail {
    /// The number of times that the trusted side held this many blocks, looked at before each batch.
    pub held: BTreeMap<i64, u64>,
    /// The number of times that there were this many blocks in addition to those that wait for their turn, a sum of
    /// coins. These blocks found no room when an eviction passed, or were read instead of a dummy. The blocks that a
    /// reshuffle placed before their turn are subtracted. Sampled now and then.
    pub excess: BTreeMap<i64, u64>,
    /// The number of slots read and written, for each access.
    pub moved: f64,
    /// The number of evictions outside of the schedule.
    pub emergencies: u64,
}

/// The mean and the standard deviation of counted values.
pub fn moments(counts: &BTreeMap<i64, u64>) -> (f64, f64) {
    let n: u64 = counts.values().sum();
    let mean_of = |of: &dyn Fn(f64) -> f64| {
        counts.iter().map(|(value, times)| of(*value as f64) * *times as f64).sum::<f64>() / n as f64
    };
    let mean = mean_of(&|value| value);
    (mean, libm::sqrt(mean_of(&|value| (value - mean) * (value - mean))))
}

/// The number of blocks that there may be before the next batch makes an emergency eviction necessary.
pub fn room(parameters: &RingParameters) -> u32 {
    parameters.stash_bound - parameters.max_batch
}

/// The number of blocks that wait for their turn. It is a sum of independent coins, for any requests.
///
/// A block waits from its access to the next eviction of its subtree. Its leaf is uniform and independent of all
/// others, and evictions go through the subtrees in turn. So a block that was accessed `e` evictions ago still waits
/// with probability `1 - e / 2^top`, independently of the others. Of several accesses to a block, the last one counts.
/// In the worst case, the newest `2 A - 1` accesses had no eviction yet. One eviction is pending or has not filled its
/// buckets, and the next is about to become pending.
struct WaitingDistribution {
    /// The number of coins of each probability.
    coins: Vec<(f64, f64)>,
}

impl WaitingDistribution {
    fn of(parameters: &RingParameters) -> Self {
        let (rate, turns) = (f64::from(parameters.eviction_rate), libm::exp2(parameters.top.0.into()));
        let older = (1..1u64 << parameters.top.0).map(|turn| (rate, 1.0 - turn as f64 / turns));
        WaitingDistribution { coins: core::iter::once((2.0 * rate - 1.0, 1.0)).chain(older).collect() }
    }

    fn mean(&self) -> f64 {
        self.coins.iter().map(|(count, p)| count * p).sum()
    }

    /// The probability of each sum, from 0 on: one coin after the other is added.
    fn probabilities(&self) -> Vec<f64> {
        let mut sums = vec![1.0];
        for (count, p) in &self.coins {
            for _ in 0..*count as u64 {
                sums.push(0.0);
                for sum in (1..sums.len()).rev() {
                    sums[sum] = sums[sum] * (1.0 - p) + sums[sum - 1] * p;
                }
                sums[0] *= 1.0 - p;
            }
        }
        sums
    }
}

/// The greatest log2 of the ratio of the measured tail of the excess to its computed bound. It is below 0 if nothing
/// was seen more often than computed.
pub fn excess_over_bound(parameters: &RingParameters, excess: &BTreeMap<i64, u64>) -> f64 {
    let stash_bound = StashBound::of(parameters);
    over_bound(excess, 0.0, |value| stash_bound.log2_excess_tail(value))
}

/// The same comparison for all blocks on the trusted side. If blocks are requested again and again, fewer blocks wait,
/// so the excess by itself is above its share.
pub fn held_over_bound(parameters: &RingParameters, held: &BTreeMap<i64, u64>) -> f64 {
    let stash_bound = StashBound::of(parameters);
    over_bound(held, 0.5, |value| stash_bound.log2_tail(value))
}

/// Compares the measured tail with a bound, if the bound says anything, at values that this many bits lie between.
fn over_bound(counts: &BTreeMap<i64, u64>, bits: f64, log2_bound: impl Fn(f64) -> f64) -> f64 {
    let (samples, mut above) = (counts.values().sum::<u64>(), 0);
    let (mut last, mut max) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (value, times) in counts.iter().rev().take_while(|(value, _)| **value > 0) {
        above += times;
        let log2 = libm::log2(above as f64 / samples as f64);
        if log2 < last + bits {
            continue;
        }
        last = log2;
        let bound = log2_bound(*value as f64);
        if bound < 0.0 {
            max = f64::max(max, log2 - bound);
        }
    }
    max
}

/// The maximum average number of blocks that wait for their turn, at any time and for any requests.
pub fn waiting_mean(parameters: &RingParameters) -> f64 {
    WaitingDistribution::of(parameters).mean()
}

/// The log2 of the probability that the next batch makes an emergency eviction necessary, at the worst time of the
/// schedule.
///
/// The distribution of the blocks that wait, which is exact, together with that of the excess. The excess is as it was
/// measured, and exponential beyond the measurement. It is taken to be independent of the blocks that wait. `None` if
/// too little was measured.
pub fn emergency_log2(parameters: &RingParameters, excess: &BTreeMap<i64, u64>, min: u64) -> Option<f64> {
    let fit = ExponentialFit::of(excess, min)?;
    let n: u64 = excess.values().sum();
    let at_least = |value: i64| {
        if value as f64 > fit.last.0 {
            return libm::exp2(fit.log2(value as f64));
        }
        excess.range(value..).map(|(_, times)| times).sum::<u64>() as f64 / n as f64
    };
    let too_many = i64::from(room(parameters)) + 1;
    let waiting = WaitingDistribution::of(parameters).probabilities();
    Some(libm::log2((0..).zip(waiting).map(|(waiting, p)| p * at_least(too_many - waiting)).sum()))
}

/// A straight line through the measured log2 tail, and its extrapolation. It is an upper bound of a tail that falls
/// faster than exponentially, as the tails of sums do.
#[derive(Clone, Copy, Debug)]
pub struct ExponentialFit {
    /// The last value that the line was fitted to, and log2 of its measured tail.
    pub last: (f64, f64),
    /// The number of bits for each block.
    pub slope: f64,
}

impl ExponentialFit {
    /// Fits the deeper half of the tail (in bits), up to the last value that `min` samples reached. `None` if there
    /// are fewer than two such values, or it is not deeper than 2^-4.
    pub fn of(counts: &BTreeMap<i64, u64>, min: u64) -> Option<Self> {
        let n: u64 = counts.values().sum();
        let mut above = 0;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (value, times) in counts.iter().rev() {
            above += times;
            let log2 = libm::log2(above as f64 / n as f64);
            if above >= min {
                points.push((*value as f64, log2));
            }
        }
        let depth = points.first().map(|(_, log2)| *log2).filter(|depth| *depth < -4.0)?;
        points.retain(|(_, log2)| *log2 <= depth / 2.0);
        let (deepest, first) = (points.first()?, points.last()?);
        let slope = (first.1 - deepest.1) / (deepest.0 - first.0);
        (points.len() > 1).then_some(ExponentialFit { last: *deepest, slope })
    }

    /// The log2 of the probability that there are at least this many blocks.
    pub fn log2(&self, blocks: f64) -> f64 {
        self.last.1 - (blocks - self.last.0) * self.slope
    }
}

/// Runs `accesses` reads in largest batches, after four times the capacity to warm up.
///
/// # Panics
/// If the parameters are not valid.
pub fn simulate(parameters: &RingParameters, reads: Reads, accesses: u64, seed: u64) -> StashTail {
    let capacity = parameters.capacity;
    let store = Headers::new(parameters);
    let leaves = RefCell::new(vec![Leaf(0); capacity as usize]);
    let positions = Recorded { map: FlatPositionMap::new(Positions::new(capacity)), leaves: &leaves };
    let random = ChaCha8Rng::seed_from_u64(seed);
    let ring = RingOram::new(parameters.clone(), &store, positions, random).expect("valid parameters");
    let mut choose = ChaCha8Rng::seed_from_u64(!seed);
    let mut tail = StashTail::default();
    let mut eviction: Option<Task<'_>> = None;
    let mut evicts_path = false;
    let mut waiting = Waiting::new(parameters);
    let batch = u64::from(parameters.max_batch);
    let waiting_blocks = u64::from(parameters.eviction_rate) << parameters.top.0;
    let (warm, every) = (4 * capacity / batch, 1 + waiting_blocks / 2048);
    for nth in 0..warm + accesses / batch {
        let batch = nth * batch..(nth + 1) * batch;
        let blocks: Vec<Option<BlockId>> =
            batch.map(|at| reads.block(at, capacity, &mut choose).map(BlockId)).collect();
        read(&ring, &blocks, &store, &mut eviction);
        waiting.accessed(&blocks, ring.evictions() - u64::from(eviction.is_some() && evicts_path));
        // As late as the schedule allows: one eviction has begun and has not got its reads, and another one is pending.
        while ring.must_step() {
            if eviction.is_some() {
                finish(&store, &mut eviction);
                continue;
            }
            store.holding.set(true);
            let before = ring.evictions();
            let mut next = Task::new(async { ring.step().await.expect("the eviction") });
            next.poll();
            store.holding.set(false);
            evicts_path = ring.evictions() > before;
            eviction = (!next.has_ended()).then_some(next);
        }
        if nth < warm {
            store.moved.set(0);
            continue;
        }
        let held = ring.stash_blocks() as i64;
        *tail.held.entry(held).or_default() += 1;
        if nth % every == 0 {
            let filled = ring.evictions() - u64::from(eviction.is_some() && evicts_path);
            let excess = held - waiting.count(filled, &leaves.borrow()) as i64;
            *tail.excess.entry(excess).or_default() += 1;
        }
    }
    tail.moved = store.moved.get() as f64 / accesses as f64;
    tail.emergencies = ring.emergencies();
    tail
}

type SimulatedRing<'a> = RingOram<&'a Headers, Recorded<'a>, ChaCha8Rng>;

fn read(
    ring: &SimulatedRing<'_>,
    blocks: &[Option<BlockId>],
    store: &Headers,
    eviction: &mut Option<Task<'_>>,
) {
    let mut access = Task::new(async {
        let mut nothing: Vec<[u8; 0]> = vec![[]; blocks.len()];
        let requested = blocks.iter().zip(&mut nothing).map(|(block, into)| match block {
            Some(block) => Access::Read(*block, into),
            None => Access::Dummy,
        });
        ring.access(&mut requested.collect::<Vec<_>>()).await.expect("the access");
    });
    access.poll();
    if !access.has_ended() {
        // It needs what the eviction in flight brings.
        finish(store, eviction);
        access.poll();
    }
    assert!(access.has_ended(), "it waits for nothing else");
}

fn finish(store: &Headers, eviction: &mut Option<Task<'_>>) {
    if let Some(mut eviction) = eviction.take() {
        store.release();
        eviction.poll();
        assert!(eviction.has_ended(), "it waits for nothing else");
    }
}

/// A position map that tells the leaves.
struct Recorded<'a> {
    map: FlatPositionMap<Infallible>,
    leaves: &'a RefCell<Vec<Leaf>>,
}

impl PositionMap for Recorded<'_> {
    type Error = Infallible;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<Infallible>> {
        self.map.remap(lookups).await?;
        for lookup in lookups {
            if let Some(block) = lookup.block {
                self.leaves.borrow_mut()[block.0 as usize] = lookup.new;
            }
        }
        Ok(())
    }

    fn trusted_bytes(&self) -> usize {
        self.map.trusted_bytes()
    }
}

/// The blocks whose subtree had no eviction since they were last read.
struct Waiting {
    tree: Geometry,
    /// The turn of each subtree in a round of evictions.
    turns: Vec<u64>,
    /// Recent accesses: the block, how many evictions had filled their buckets by then, the number of the access.
    recent: VecDeque<(BlockId, u64, u64)>,
    accesses: u64,
    /// The number of each block's last access.
    last: Vec<u64>,
}

impl Waiting {
    fn new(parameters: &RingParameters) -> Self {
        let tree = parameters.geometry();
        let mut turns = vec![0; tree.subtrees()];
        for turn in 0..tree.subtrees() as u64 {
            turns[tree.subtree(reverse_lexicographic(turn, tree.leaf_level()))] = turn;
        }
        Waiting {
            tree,
            turns,
            recent: VecDeque::new(),
            accesses: 0,
            last: vec![0; parameters.capacity as usize],
        }
    }

    fn accessed(&mut self, blocks: &[Option<BlockId>], filled: u64) {
        for block in blocks.iter().flatten() {
            self.accesses += 1;
            self.last[block.0 as usize] = self.accesses;
            self.recent.push_back((*block, filled, self.accesses));
        }
        let round = self.turns.len() as u64;
        while self.recent.front().is_some_and(|(_, then, _)| then + round <= filled) {
            self.recent.pop_front();
        }
    }

    fn count(&self, filled: u64, leaves: &[Leaf]) -> usize {
        let round = self.turns.len() as u64;
        let waits = |(block, then, access): &&(BlockId, u64, u64)| {
            let turn = self.turns[self.tree.subtree(leaves[block.0 as usize])];
            let next = then + (turn + round - then % round) % round;
            self.last[block.0 as usize] == *access && next >= filled
        };
        self.recent.iter().filter(waits).count()
    }
}

/// A store of headers only: the payload of a simulated block is empty. It can hold back one read.
struct Headers {
    tree: Geometry,
    slots: RefCell<Vec<u8>>,
    moved: Cell<u64>,
    /// True while reads are held back; then the future that waits for the held read.
    holding: Cell<bool>,
    held: RefCell<Option<Waker>>,
    released: Cell<bool>,
}

impl Headers {
    fn new(parameters: &RingParameters) -> Self {
        let tree = parameters.geometry();
        Headers {
            slots: RefCell::new(vec![0; tree.layout().slots() as usize * HEADER_BYTES]),
            tree,
            moved: Cell::new(0),
            holding: Cell::new(false),
            held: RefCell::new(None),
            released: Cell::new(false),
        }
    }

    fn release(&self) {
        self.released.set(true);
        if let Some(waker) = self.held.take() {
            waker.wake();
        }
    }

    /// The first byte of a bucket, and how many it has.
    fn place(&self, bucket: Bucket) -> (usize, usize) {
        let level = self.tree.level_of(bucket);
        let slots = u64::from(self.tree.shape(level).slots);
        let before = self.tree.slots_above(level) + (bucket.0 - self.tree.first_of(level).0) * slots;
        (before as usize * HEADER_BYTES, slots as usize * HEADER_BYTES)
    }
}

impl Store for Headers {
    type Error = Infallible;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Infallible> {
        self.moved.set(self.moved.get() + slots.len() as u64);
        for (slot, into) in slots.iter().zip(into.chunks_exact_mut(HEADER_BYTES)) {
            let start = self.place(slot.bucket).0 + slot.index as usize * HEADER_BYTES;
            into.copy_from_slice(&self.slots.borrow()[start..start + HEADER_BYTES]);
        }
        if self.holding.get() {
            self.released.set(false);
            poll_fn(|context| {
                if self.released.get() {
                    return Poll::Ready(());
                }
                self.held.replace(Some(context.waker().clone()));
                Poll::Pending
            })
            .await;
        }
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], mut from: &[u8]) -> Result<(), Infallible> {
        for bucket in buckets {
            let (start, bytes) = self.place(*bucket);
            self.slots.borrow_mut()[start..start + bytes].copy_from_slice(&from[..bytes]);
            from = &from[bytes..];
            self.moved.set(self.moved.get() + (bytes / HEADER_BYTES) as u64);
        }
        Ok(())
    }
}
