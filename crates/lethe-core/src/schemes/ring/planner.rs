//! The planner of Ring ORAM's parameters: the cheapest whose stash fits, and overflows with a probability below 2^-80.

use super::parameters::{MAX_BATCH, RingBucket, RingParameters, least_blocks, least_leaf_blocks};
use super::stash_law::StashLaw;
use crate::bucket_metadata::MAX_BLOCKS;
use crate::words::Level;
use core::ops::RangeInclusive;

/// The rates of eviction that the planner looks at; the least is for a vault too small for any other.
const RATES: RangeInclusive<u32> = 4..=64;

/// The planned probability that a batch makes an emergency eviction necessary is 2 to the minus this.
const EMERGENCY_BITS: f64 = 80.0;

/// The blocks in a leaf's share of the finest tree: a finer one holds less than a bucket's worth in each leaf.
const LEAST_SHARE: f64 = 24.0;

/// The wishes that a plan must meet.
#[derive(Clone, Copy)]
struct Wishes {
    capacity: u64,
    block_bytes: u32,
    trusted_blocks: u64,
    max_batch: u32,
}

/// The choice of a rate, and of the spare room in buckets beyond the least, which keeps the stash smaller.
#[derive(Clone, Copy)]
struct Choice {
    /// A.
    rate: u32,
    /// Blocks that Z is above the least of the paper's analysis.
    spare_blocks: u32,
    /// Slots that buckets have beyond what is read and held on average.
    spare_slots: u32,
}

impl Choice {
    /// The choice without spare room.
    fn tight(rate: u32) -> Self {
        Choice { rate, spare_blocks: 0, spare_slots: 0 }
    }

    /// The choices with this rate.
    fn of_rate(rate: u32) -> impl Iterator<Item = Self> {
        let blocks = least_blocks(rate).div_ceil(24);
        let slots = libm::ceil(0.3 * libm::sqrt(rate.into())) as u32;
        let choice =
            move |nth: u32| Choice { rate, spare_blocks: nth / 4 * blocks, spare_slots: nth % 4 * slots };
        (0..20).map(choice)
    }
}

impl RingParameters {
    /// The cheapest parameters, in slots moved for each access, that keep at most `trusted_blocks` on the trusted side,
    /// and whose stash needs an emergency eviction with a probability below 2^-80.
    ///
    /// A small vault gets a larger trusted side than asked for where nothing smaller would work.
    pub fn for_capacity(capacity: u64, block_bytes: u32, trusted_blocks: u64, max_batch: u32) -> Self {
        // Beyond the range nothing is planned; `validate` says so.
        if capacity > MAX_BLOCKS || max_batch > MAX_BATCH {
            let batch = max_batch.min(MAX_BATCH);
            let nearest = Self::for_capacity(capacity.min(MAX_BLOCKS), block_bytes, trusted_blocks, batch);
            return RingParameters { capacity, max_batch, ..nearest };
        }
        let wishes = Wishes { capacity, block_bytes, trusted_blocks, max_batch };
        // A stash for all blocks and a batch always suffices.
        let mut more = core::iter::successors(Some(trusted_blocks.max(1)), |less| Some(2 * less));
        more.find_map(|trusted_blocks| cheapest(&Wishes { trusted_blocks, ..wishes }, RATES))
            .expect("it ends where a stash holds every block")
    }

    /// The cheapest parameters with this A: one eviction moves less when A is small, which suits memory, where a
    /// round trip costs nothing and a cache holds little. `None` if the trusted side would need more than
    /// `trusted_blocks`.
    pub fn for_rate(
        capacity: u64,
        block_bytes: u32,
        trusted_blocks: u64,
        max_batch: u32,
        rate: u32,
    ) -> Option<Self> {
        cheapest(&Wishes { capacity, block_bytes, trusted_blocks, max_batch }, rate..=rate)
    }

    /// These parameters with another Z (inner buckets), S (without the batch) or A; the values that follow from them
    /// are chosen anew, the stash bound too. [`validate`](Self::validate) says whether they work.
    pub fn adjusted(&self, z: Option<u32>, s: Option<u32>, a: Option<u32>) -> Self {
        let wishes = Wishes {
            capacity: self.capacity,
            block_bytes: self.block_bytes,
            trusted_blocks: self.stash_bound.into(),
            max_batch: self.max_batch,
        };
        let rate = a.unwrap_or(self.eviction_rate);
        let mut adjusted = with_levels(&wishes, Choice::tight(rate), self.top, self.leaf_level);
        if let Some(blocks) = z {
            adjusted.inner.blocks = blocks;
        }
        if let Some(dummies) = s {
            adjusted.reads = dummies.saturating_add(self.max_batch);
            adjusted.leaf.slots = adjusted.leaf.blocks.saturating_add(adjusted.reads);
        }
        adjusted.inner.slots = adjusted.inner.blocks.saturating_add(adjusted.reads);
        with_stash_bound(adjusted, &wishes)
    }

    /// These parameters with the stash that they need, for those that an earlier version planned with less.
    pub fn with_stash_that_holds(&self) -> Self {
        if self.emergency_log2() <= -EMERGENCY_BITS {
            return self.clone();
        }
        let wishes = Wishes {
            capacity: self.capacity,
            block_bytes: self.block_bytes,
            trusted_blocks: self.stash_bound.into(),
            max_batch: self.max_batch,
        };
        with_stash_bound(self.clone(), &wishes)
    }

    /// The cost that the planner minimises. Untrusted memory may cost up to three times the payload; beyond that a
    /// cheaper access is not worth it.
    fn cost(&self) -> f64 {
        let expansion = self.geometry().layout().slots() as f64 / self.capacity.max(64) as f64;
        self.slots_per_access() + 20.0 * (expansion - 3.0).max(0.0)
    }
}

/// The cheapest parameters with one of these rates. `None` if all need more than may be trusted.
fn cheapest(wishes: &Wishes, rates: RangeInclusive<u32>) -> Option<RingParameters> {
    let mut best: Option<(f64, RingParameters)> = None;
    for choice in rates.flat_map(Choice::of_rate) {
        // The trusted top that fits without any tail; a lower one costs more.
        let fits = |top: &u32| {
            with_levels(wishes, choice, Level(*top), Level(*top)).least_stash_bound() <= wishes.trusted_blocks
        };
        for top in (0..=finest(wishes.capacity)).rev().filter(fits) {
            let (cost, planned) = with_top(wishes, choice, top);
            if best.as_ref().is_some_and(|(least, _)| cost >= *least) {
                break;
            }
            if needed_stash(&planned) <= wishes.trusted_blocks {
                best = Some((cost, planned));
                break;
            }
        }
    }
    best.map(|(_, planned)| with_stash_bound(planned, wishes))
}

/// The cheapest parameters with this choice and this trusted top, and their cost.
fn with_top(wishes: &Wishes, choice: Choice, top: u32) -> (f64, RingParameters) {
    let planned = (top..=finest(wishes.capacity).max(top)).map(|leaf_level| {
        let planned = with_levels(wishes, choice, Level(top), Level(leaf_level));
        (planned.cost(), planned)
    });
    planned.min_by(|one, other| one.0.total_cmp(&other.0)).expect("there are candidates")
}

/// The parameters with this choice and these levels, and the least stash bound that is accepted.
fn with_levels(wishes: &Wishes, choice: Choice, top: Level, leaf_level: Level) -> RingParameters {
    let Wishes { capacity, block_bytes, max_batch, .. } = *wishes;
    let rate = choice.rate;
    let blocks = least_blocks(rate).saturating_add(choice.spare_blocks);
    // Reads between two evictions are Poisson with mean A; a bucket that gets 1.3 deviations more is reshuffled.
    let dummies = rate.saturating_add(libm::ceil(1.3 * libm::sqrt(rate.into())) as u32);
    let reads = dummies.saturating_add(max_batch);
    let leaf_blocks = least_leaf_blocks(capacity, leaf_level.0, rate);
    let share = (capacity as f64 / libm::exp2(leaf_level.0.into())) as u32;
    let bucket = |blocks: u32, held: u32| {
        let slots = dummies.saturating_add(held).max(blocks).max(reads).saturating_add(choice.spare_slots);
        RingBucket { blocks, slots: slots.min(blocks.saturating_add(reads)) }
    };
    let planned = RingParameters {
        capacity,
        block_bytes,
        leaf_level,
        top,
        eviction_rate: rate,
        reads,
        inner: bucket(blocks, rate / 2),
        leaf: bucket(leaf_blocks, share),
        max_batch,
        stash_bound: 0,
    };
    let least = planned.least_stash_bound();
    RingParameters { stash_bound: least.min(u32::MAX.into()) as u32, ..planned }
}

/// The parameters with the stash bound that they need; all that may be trusted, if that is more.
fn with_stash_bound(planned: RingParameters, wishes: &Wishes) -> RingParameters {
    let bound = needed_stash(&planned).max(wishes.trusted_blocks.min(wishes.capacity));
    RingParameters { stash_bound: bound.min(u32::MAX.into()) as u32, ..planned }
}

/// The stash bound that these parameters need: for the tail of its law, but for no more blocks than there are, and for
/// a largest batch.
fn needed_stash(planned: &RingParameters) -> u64 {
    let filling = libm::ceil(StashLaw::of(planned).least_filling(EMERGENCY_BITS)) as u64;
    (filling.min(planned.capacity) + u64::from(planned.max_batch)).max(planned.least_stash_bound())
}

/// The finest leaf level that is looked at.
fn finest(capacity: u64) -> u32 {
    libm::ceil(libm::log2((capacity as f64 / LEAST_SHARE).max(1.0))) as u32
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
