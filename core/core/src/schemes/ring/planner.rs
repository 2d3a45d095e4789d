//! The planner of Ring ORAM's parameters: the cheapest whose stash fits, and overflows with a probability below 2^-80.

use super::parameters::{MAX_BATCH, RingBucket, RingParameters, min_blocks, min_leaf_blocks};
use super::stash_bound::StashBound;
use super::traffic::RingObjective;
use crate::tree::bucket_metadata::MAX_BLOCKS;
use crate::types::Level;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// The rates of eviction that the planner tries. The lowest is for a vault that is too small for any other. The
/// greatest keeps the path that an eviction has in flight small.
const RATES: RangeInclusive<u32> = 4..=256;

/// The planned probability that a batch makes an emergency eviction necessary is 2 to the minus this.
const EMERGENCY_BITS: f64 = 80.0;

/// The blocks in a leaf's share of the finest tree: a finer one holds less than a bucket's worth in each leaf.
const MIN_SHARE: f64 = 16.0;

/// The maximum number of slots of a path: 80 MiB in blocks of 64 KiB. Two paths may be in flight.
const LONG_PATH: f64 = 1280.0;

/// The steps of the search for spare room, in the units of a choice.
const STEPS: [f64; 4] = [1.0, 0.5, 0.25, 0.125];

/// The number of choices of levels whose spare room is searched for: those that are cheapest with some.
const SEARCHED: usize = 3;

/// The part of a cost that a better one must be below: less is not worth the search.
const MIN_GAIN: f64 = 0.999;

/// The number of moves in a row that may find nothing cheaper. A cost may rise again with the rate, so [`better`] may
/// err.
const MAX_IN_VAIN: u32 = 3;

/// The constraints that a plan must meet.
#[derive(Clone, Copy)]
struct PlanConstraints {
    capacity: u64,
    block_bytes: u32,
    trusted_blocks: u64,
    max_batch: u32,
    slice_slots: u32,
    objective: RingObjective,
}

/// The choice of levels, and of the spare room in buckets beyond the least, which keeps the stash smaller.
#[derive(Clone, Copy)]
struct Choice {
    top: Level,
    leaf_level: Level,
    /// The number of slots that inner buckets have beyond S, in square roots of A.
    inner_slots: f64,
    /// The number of blocks that inner buckets may hold beyond the A/2 that they do on average, in square roots of
    /// those.
    inner_blocks: f64,
    /// The number of slots that leaf buckets have beyond their blocks, in square roots of their share.
    leaf_slots: f64,
}

impl Choice {
    /// The choice without spare room.
    fn tight(top: Level, leaf_level: Level) -> Self {
        Choice { top, leaf_level, inner_slots: 0.0, inner_blocks: f64::INFINITY, leaf_slots: 0.0 }
    }

    /// The choices that the search begins with: the more room, the surer that some rate fits.
    fn initial_choices(&self) -> [Self; 3] {
        [(0.8, 0.75), (2.0, 2.0), (4.0, 3.0)].map(|(inner_slots, leaf_slots)| Choice {
            inner_slots,
            leaf_slots,
            ..*self
        })
    }

    /// The choices around this one, so far away.
    fn neighbours(&self, step: f64) -> impl Iterator<Item = Self> + use<> {
        let this = *self;
        let is_leaf = this.top == this.leaf_level;
        let moves = [(0.0, -1.0), (0.0, 1.0), (-1.0, 0.0), (1.0, 0.0), (-1.0, 1.0), (1.0, -1.0)];
        let moved =
            moves.into_iter().take(if is_leaf { 2 } else { moves.len() }).map(move |(inner, leaf)| Choice {
                inner_slots: (this.inner_slots + 0.8 * step * inner).max(0.0),
                leaf_slots: (this.leaf_slots + step * leaf).max(0.0),
                ..this
            });
        let blocks = [f64::INFINITY, 2.0, 2.5, 3.0, 4.0].into_iter().take(if is_leaf { 0 } else { 5 });
        moved.chain(blocks.map(move |inner_blocks| Choice { inner_blocks, ..this }))
    }
}

impl RingParameters {
    /// The cheapest parameters, in slots moved for each access. They keep at most `trusted_blocks` on the trusted side,
    /// and their stash needs an emergency eviction with a probability below 2^-80.
    ///
    /// A small vault gets a larger trusted side than requested where nothing smaller would work.
    pub fn for_capacity(capacity: u64, block_bytes: u32, trusted_blocks: u64, max_batch: u32) -> Self {
        let slice_slots = u32::MAX;
        Self::for_objective(
            capacity,
            block_bytes,
            trusted_blocks,
            (max_batch, slice_slots),
            RingObjective::BYTES,
        )
    }

    /// Does the same as `for_capacity` for another objective than slots moved, and with slices of at most `slice_slots`
    /// slots. Where that is less than a small bucket, a slice is a small bucket.
    pub fn for_objective(
        capacity: u64,
        block_bytes: u32,
        trusted_blocks: u64,
        (max_batch, slice_slots): (u32, u32),
        objective: RingObjective,
    ) -> Self {
        // Beyond the range nothing is planned; `validate` says so.
        if capacity > MAX_BLOCKS || max_batch > MAX_BATCH {
            let (max, batch) = (capacity.min(MAX_BLOCKS), max_batch.min(MAX_BATCH));
            let nearest =
                Self::for_objective(max, block_bytes, trusted_blocks, (batch, slice_slots), objective);
            return RingParameters { capacity, max_batch, ..nearest };
        }
        let slice_slots = slice_slots.max(small_bucket(max_batch));
        let constraints =
            PlanConstraints { capacity, block_bytes, trusted_blocks, max_batch, slice_slots, objective };
        let waits = objective.slot_waited > 0.0;
        if waits { with_least_wait(&constraints) } else { with_enough_trusted(&constraints) }
    }

    /// The cheapest parameters with this A. With a small A one eviction moves less. This suits memory, in which a round
    /// trip costs nothing and a cache holds little. `None` if the trusted side would need more than `trusted_blocks`.
    pub fn for_rate(
        capacity: u64,
        block_bytes: u32,
        trusted_blocks: u64,
        max_batch: u32,
        rate: u32,
    ) -> Option<Self> {
        let (objective, slice_slots) = (RingObjective::BYTES, u32::MAX);
        let constraints =
            PlanConstraints { capacity, block_bytes, trusted_blocks, max_batch, slice_slots, objective };
        cheapest(&constraints, rate..=rate)
    }

    /// Returns these parameters with another Z (inner buckets), S (without the batch) or A. Chooses the values that
    /// follow from them again, the stash bound too. [`validate`](Self::validate) says whether they work.
    pub fn adjusted(&self, z: Option<u32>, s: Option<u32>, a: Option<u32>) -> Self {
        let constraints = self.constraints();
        let rate = a.unwrap_or(self.eviction_rate);
        let mut adjusted = with_rate(&constraints, &Choice::tight(self.top, self.leaf_level), rate);
        adjusted.reads = min_reads(rate, self.max_batch);
        if let Some(blocks) = z {
            adjusted.inner.blocks = blocks;
        }
        if let Some(dummies) = s {
            adjusted.reads = dummies.saturating_add(self.max_batch);
            adjusted.leaf.slots = adjusted.leaf.blocks.saturating_add(adjusted.reads);
        }
        adjusted.inner.slots = adjusted.inner.blocks.saturating_add(adjusted.reads);
        adjusted.slice_slots = self.slice_slots.max(adjusted.largest_bucket());
        with_stash_bound(adjusted, &constraints)
    }

    /// The constraints that these parameters were planned for: as many trusted blocks as their stash bound.
    fn constraints(&self) -> PlanConstraints {
        PlanConstraints {
            capacity: self.capacity,
            block_bytes: self.block_bytes,
            trusted_blocks: self.stash_bound.into(),
            max_batch: self.max_batch,
            slice_slots: self.slice_slots,
            objective: RingObjective::BYTES,
        }
    }

    /// The cost that the planner minimises. Untrusted memory may be up to three times the payload, and a path in flight
    /// may take as much memory as [`LONG_PATH`] says. A cheaper access is not worth more.
    fn cost(&self, objective: &RingObjective) -> f64 {
        let (top, leaves) = (libm::exp2(self.top.0.into()), libm::exp2(self.leaf_level.0.into()));
        let slots = (leaves - top) * f64::from(self.inner.slots) + leaves * f64::from(self.leaf.slots);
        let expansion = slots / self.capacity.max(64) as f64;
        let inner_levels = f64::from(self.leaf_level.0 - self.top.0);
        let path = inner_levels * f64::from(self.inner.slots) + f64::from(self.leaf.slots);
        objective.of(&self.traffic()) * (1.0 + (expansion - 3.0).max(0.0)) * (path / LONG_PATH).max(1.0)
    }
}

/// The cheapest parameters, if what a request may wait for has a cost. The larger buckets may be, the fewer slots an
/// access moves, and the larger a slice is. So the bounds of slices are tried from the smallest up, until the cost
/// rises.
fn with_least_wait(constraints: &PlanConstraints) -> RingParameters {
    let PlanConstraints { objective, slice_slots: max, max_batch, .. } = *constraints;
    let without_wait = RingObjective { slot_waited: 0.0, ..objective };
    let bounds = core::iter::successors(Some(small_bucket(max_batch)), |bound| {
        (*bound < max && *bound < LONG_PATH as u32).then(|| (bound + bound.div_ceil(4)).min(max))
    });
    let plans = bounds.map(|slice_slots| {
        let constraints = PlanConstraints { slice_slots, objective: without_wait, ..*constraints };
        let planned = with_enough_trusted(&constraints);
        let smallest = RingParameters { slice_slots: planned.largest_bucket(), ..planned.clone() };
        let planned = if smallest.validate().is_ok() { smallest } else { planned };
        let waited = objective.slot_waited * planned.largest_slice() as f64;
        (planned.cost(&without_wait) + waited, planned)
    });
    let mut best: Option<(f64, RingParameters)> = None;
    for (cost, planned) in plans {
        if best.as_ref().is_some_and(|(min, _)| *min <= cost) {
            break;
        }
        best = Some((cost, planned));
    }
    best.map(|(_, planned)| planned).expect("the smallest bound of slices is tried")
}

/// The cheapest parameters with as much trusted as asked for, or twice, four times as much: where nothing less works.
fn with_enough_trusted(constraints: &PlanConstraints) -> RingParameters {
    // A stash for all blocks and a batch always suffices.
    let mut more = core::iter::successors(Some(constraints.trusted_blocks.max(1)), |less| Some(2 * less));
    more.find_map(|trusted_blocks| cheapest(&PlanConstraints { trusted_blocks, ..*constraints }, RATES))
        .expect("it ends where a stash holds every block")
}

/// The cheapest parameters with one of these rates. `None` if all need more than may be trusted.
fn cheapest(constraints: &PlanConstraints, rates: RangeInclusive<u32>) -> Option<RingParameters> {
    // The greatest rate is the cheapest. First that for which the blocks that wait fit without any others.
    let mut levels: Vec<(f64, Choice, u32)> = Vec::new();
    for top in 0..=finest(constraints.capacity) {
        let level = Level(top);
        let waits = |rate: u32| {
            let planned = with_rate(constraints, &Choice::tight(level, level), rate);
            bound_for(&planned, StashBound::of(&planned).min_waiting(EMERGENCY_BITS))
                <= constraints.trusted_blocks
        };
        let Some(rate) = greatest(rates.clone(), waits) else { continue };
        for leaf_level in top..=finest(constraints.capacity) {
            let choice = Choice::tight(level, Level(leaf_level));
            let has_room =
                |rate: u32| with_rate(constraints, &choice, rate).largest_bucket() <= constraints.slice_slots;
            let Some(rate) = greatest(*rates.start()..=rate, has_room) else { continue };
            levels.push((with_rate(constraints, &choice, rate).cost(&constraints.objective), choice, rate));
        }
    }
    levels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut found: Vec<(Found, RangeInclusive<u32>)> = Vec::new();
    for (cost, choice, max) in levels {
        if found.iter().any(|(found, _)| found.cost <= cost) {
            break;
        }
        let rates = *rates.start()..=max;
        let first =
            choice.initial_choices().iter().find_map(|choice| better(constraints, choice, &rates, None));
        found.extend(first.map(|first| (first, rates)));
    }
    found.sort_by(|(one, _), (other, _)| one.cost.total_cmp(&other.cost));
    let searched =
        found.into_iter().take(SEARCHED).map(|(found, rates)| search(constraints, found, &rates).0);
    let best = searched.min_by(|one, other| one.cost.total_cmp(&other.cost))?;
    Some(with_stash_bound(best.planned, constraints))
}

/// Goes from these parameters to others around them that look cheaper. Returns the cheapest, and the number of moves.
fn search(constraints: &PlanConstraints, first: Found, rates: &RangeInclusive<u32>) -> (Found, u32) {
    let (mut best, mut found, mut moves) = (first.clone(), first, 0);
    for step in STEPS {
        let mut in_vain = 0;
        while in_vain < MAX_IN_VAIN {
            let mut neighbours = found.choice.neighbours(step);
            let Some(next) =
                neighbours.find_map(|choice| better(constraints, &choice, rates, Some(found.cost)))
            else {
                break;
            };
            (found, moves) = (next, moves + 1);
            if found.cost < best.cost {
                (best, in_vain) = (found.clone(), 0);
            } else {
                in_vain += 1;
            }
        }
    }
    (best, moves)
}

/// The cheapest parameters so far, and the choice that they came from.
#[derive(Clone)]
struct Found {
    cost: f64,
    choice: Choice,
    planned: RingParameters,
}

/// The cheapest parameters with this choice and one of these rates, if they are cheaper than this cost.
fn better(
    constraints: &PlanConstraints,
    choice: &Choice,
    rates: &RangeInclusive<u32>,
    cheaper_than: Option<f64>,
) -> Option<Found> {
    let min = cheaper_than.map_or(f64::INFINITY, |cost| cost * MIN_GAIN);
    let of_rate = |rate: u32| with_rate(constraints, choice, rate);
    let cost = |rate: u32| of_rate(rate).cost(&constraints.objective);
    // A rate that is not cheaper than the best so far is not tested for fit.
    let first = greatest(rates.clone(), |rate| cost(rate) >= min).map_or(*rates.start(), |dear| dear + 1);
    let rate = greatest(first..=*rates.end(), |rate| fits(constraints, &of_rate(rate)))?;
    Some(Found { cost: cost(rate), choice: *choice, planned: of_rate(rate) })
}

/// Returns whether slices have room for each bucket, and the stash that these parameters need may be trusted.
fn fits(constraints: &PlanConstraints, planned: &RingParameters) -> bool {
    let can_be_sliced = planned.top > Level(0) || !planned.is_sliced();
    if planned.largest_bucket() > constraints.slice_slots || !can_be_sliced {
        return false;
    }
    let room = constraints.trusted_blocks.saturating_sub(planned.max_batch.into());
    planned.min_stash_bound() <= constraints.trusted_blocks
        && (room >= planned.capacity || StashBound::of(planned).fills_at_most(room as f64, EMERGENCY_BITS))
}

/// The greatest of these rates that fits, where every smaller one does.
fn greatest(rates: RangeInclusive<u32>, fits: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut low, mut high) = rates.into_inner();
    if low > high || !fits(low) {
        return None;
    }
    if fits(high) {
        return Some(high);
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// The least S: reads between two evictions are Poisson with mean A, a bucket that gets 1.3 deviations more is
/// reshuffled, and a batch comes.
fn min_reads(rate: u32, max_batch: u32) -> u32 {
    let dummies = rate.saturating_add(libm::ceil(1.3 * libm::sqrt(rate.into())) as u32);
    dummies.saturating_add(max_batch)
}

/// The parameters with this choice and this rate, and the least stash bound that is accepted.
fn with_rate(constraints: &PlanConstraints, choice: &Choice, rate: u32) -> RingParameters {
    let PlanConstraints { capacity, block_bytes, max_batch, .. } = *constraints;
    let Choice { top, leaf_level, .. } = *choice;
    let reads = min_reads(rate, max_batch);
    let spare = |roots: f64, of: f64| libm::ceil(roots * libm::sqrt(of)) as u32;
    let slots = reads.saturating_add(spare(choice.inner_slots, rate.into())).max(min_blocks(rate));
    // An eviction reads no more than Z, and no more than what is unread.
    let load = f64::from(rate) / 2.0;
    let blocks = libm::ceil(load + choice.inner_blocks * libm::sqrt(load)) as u32;
    let inner = RingBucket { blocks: blocks.max(min_blocks(rate)).min(slots), slots };
    // A leaf bucket's slots are its blocks: where dummies have run out, blocks are read in their place.
    let share = capacity as f64 / libm::exp2(leaf_level.0.into());
    let blocks =
        min_leaf_blocks(capacity, leaf_level.0, rate).saturating_add(spare(choice.leaf_slots, share));
    let leaf = RingBucket { blocks, slots: blocks.max(reads) };
    // As many reads as there are slots for, so that few buckets are reshuffled early.
    let reads = if top == leaf_level { leaf.slots } else { inner.slots.min(leaf.slots) };
    let inner = if top == leaf_level { leaf } else { inner };
    let planned = RingParameters {
        capacity,
        block_bytes,
        leaf_level,
        top,
        eviction_rate: rate,
        reads,
        inner,
        leaf,
        max_batch,
        stash_bound: 0,
        slice_slots: constraints.slice_slots,
    };
    let min = planned.min_stash_bound();
    RingParameters { stash_bound: min.min(u32::MAX.into()) as u32, ..planned }
}

/// A number of slots of a bucket that is enough for some plan with the lowest rate, for any capacity. It is the most
/// that a leaf's share of the finest tree and the largest batch need, with room for the search.
fn small_bucket(max_batch: u32) -> u32 {
    let share = libm::ceil(MIN_SHARE + 6.0 * libm::sqrt(MIN_SHARE)) as u32;
    share.max(min_reads(*RATES.start(), max_batch) + 8)
}

/// The parameters with the stash bound that they need; all that may be trusted, if that is more.
fn with_stash_bound(planned: RingParameters, constraints: &PlanConstraints) -> RingParameters {
    let bound = needed_stash(&planned).max(constraints.trusted_blocks.min(constraints.capacity));
    RingParameters { stash_bound: bound.min(u32::MAX.into()) as u32, ..planned }
}

/// The stash bound that these parameters need. It covers the tail of the distribution, at most all blocks, and a
/// largest batch.
fn needed_stash(planned: &RingParameters) -> u64 {
    bound_for(planned, StashBound::of(planned).min_filling(EMERGENCY_BITS))
}

fn bound_for(planned: &RingParameters, filling: f64) -> u64 {
    // An emergency comes when there are more than the room.
    let filling = (libm::ceil(filling) as u64).saturating_sub(1);
    (filling.min(planned.capacity) + u64::from(planned.max_batch)).max(planned.min_stash_bound())
}

/// The finest leaf level that is looked at.
fn finest(capacity: u64) -> u32 {
    libm::ceil(libm::log2((capacity as f64 / MIN_SHARE).max(1.0))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_parameters_are_valid_and_keep_the_stash_at_every_size() {
        for capacity in [1, 2, 63, 64, 1000, 4096, 16_384, 100_000, 1 << 20, 1 << 28] {
            for divisor in [4, 8, 32, 1000] {
                for batch in [1, 16, 64] {
                    let parameters = RingParameters::for_capacity(capacity, 64, capacity / divisor, batch);
                    assert_eq!(parameters.validate(), Ok(()), "{parameters:?}");
                    let log2 = parameters.emergency_log2();
                    assert!(log2 <= -EMERGENCY_BITS, "2^{log2:.1} of {parameters:?}");
                }
            }
        }
    }

    #[test]
    fn adjusted_parameters_get_the_stash_that_they_need() {
        let planned = RingParameters::for_capacity(16_384, 64, 1024, 16);
        for (z, s, a) in [
            (Some(40), None, None),
            (None, Some(60), None),
            (None, None, Some(60)),
            (Some(8), Some(12), Some(8)),
        ] {
            let adjusted = planned.adjusted(z, s, a);
            assert_eq!(adjusted.validate(), Ok(()), "{adjusted:?}");
            assert!(adjusted.emergency_log2() <= -EMERGENCY_BITS, "{adjusted:?}");
        }
    }

    #[test]
    fn a_search_ends_where_costs_rise_again_with_the_rate() {
        // A vault of 1 TiB with a tree top of 256 MiB, in blocks of 64 KiB. From A = 48, a choice leads to itself.
        let constraints = PlanConstraints {
            capacity: 1 << 24,
            block_bytes: 0,
            trusted_blocks: 1 << 12,
            max_batch: 16,
            slice_slots: u32::MAX,
            objective: RingObjective::BYTES,
        };
        let tight = Choice::tight(Level(7), Level(17));
        let choice = Choice { inner_slots: 1.6, leaf_slots: 2.75, ..tight };
        let found = better(&constraints, &choice, &(4..=56), None).expect("some rate fits");
        let itself = better(&constraints, &choice, &(4..=56), Some(found.cost)).expect("it errs here");
        assert!(itself.cost >= found.cost);
        let (best, moves) = search(&constraints, found.clone(), &(4..=56));
        assert!(best.cost <= found.cost && moves < 30, "{} after {moves} moves", best.cost);
    }

    #[test]
    fn no_wish_of_a_user_takes_long_to_refuse() {
        let planned = RingParameters::for_capacity(16_384, 64, 1024, 16);
        for wish in [0, 1, u32::MAX] {
            for adjusted in [(Some(wish), None, None), (None, Some(wish), None), (None, None, Some(wish))] {
                let (z, s, a) = adjusted;
                let _ = planned.adjusted(z, s, a).validate();
            }
        }
    }
}
