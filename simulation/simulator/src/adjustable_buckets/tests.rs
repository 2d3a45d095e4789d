use super::*;
use std::collections::{BTreeSet, VecDeque};

/// A bug that tests inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InjectedBug {
    /// A place from which the block of an access was read is not lent.
    PlacesOfBlocksAreNotLent,
    /// The blocks of a bucket are at places of its own.
    BlocksAreInOwnPlaces,
}

fn configuration(small_slots: u32) -> AdjustableConfiguration {
    AdjustableConfiguration {
        queue: 64,
        small_levels: 3,
        ..AdjustableConfiguration::of_authors(10, small_slots)
    }
}

fn oram(configuration: AdjustableConfiguration) -> AdjustableOram {
    AdjustableOram::new(configuration, &Specification::usimm().with_super_rows(), 1).expect("a sound tree")
}

/// Accesses to random ones of the first blocks.
fn accesses(blocks: u64, count: usize) -> impl Iterator<Item = u64> {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    (0..count).map(move |_| random.next_u64() % blocks)
}

fn observed(
    configuration: AdjustableConfiguration,
    (blocks, count): (u64, usize),
    bug: Option<InjectedBug>,
) -> Vec<VisiblePlaces> {
    let mut oram = oram(configuration);
    oram.bug = bug;
    let mut observed = Vec::new();
    oram.access(accesses(blocks, count), false, |step| observed.push(step)).expect("no time is taken");
    observed
}

/// Computes the places a second time, from what is visible alone.
struct ReferencePlaces {
    configuration: AdjustableConfiguration,
    levels: Vec<ReferenceLevel>,
    accesses: u64,
    evictions: u64,
    /// Buckets that are to be written now, in their order.
    due: VecDeque<(u32, u32)>,
    /// The counted reads of borrowed places, their expected number, and the variance of that number.
    borrowed: f64,
    expected: f64,
    variance: f64,
}

struct ReferenceLevel {
    own: u32,
    /// The places of each bucket that were not read, its reads, and the maximum of them.
    buckets: Vec<(BTreeSet<u32>, usize, usize)>,
    /// The places of all of them.
    live: BTreeSet<u32>,
    lent: Vec<u32>,
    queue: VecDeque<u32>,
}

impl ReferenceLevel {
    fn lend(&mut self, place: u32, configuration: &AdjustableConfiguration) {
        let (own, owner) = (self.own, (place / self.own) as usize);
        let is_small = own < configuration.blocks_per_bucket + configuration.reads;
        if is_small
            && self.queue.len() < configuration.queue
            && self.lent[owner] + configuration.blocks_per_bucket + 1 < own
        {
            self.lent[owner] += 1;
            self.queue.push_back(place);
        }
    }

    fn give_back(&mut self, place: u32, bucket: u32) {
        self.lent[(place / self.own) as usize] -= u32::from(place / self.own != bucket);
    }
}

impl ReferencePlaces {
    fn new(configuration: AdjustableConfiguration) -> Self {
        let z = configuration.blocks_per_bucket;
        let level = |level: u32| {
            let own = configuration.slots(level);
            let bucket = |nth: u32| ((nth * own..(nth + 1) * own).collect(), 0, (own - z) as usize);
            ReferenceLevel {
                own,
                buckets: (0..1 << level).map(bucket).collect(),
                live: (0..own << level).collect(),
                lent: vec![0; 1 << level],
                queue: VecDeque::new(),
            }
        };
        ReferencePlaces {
            configuration,
            levels: (configuration.top_levels..configuration.levels).map(level).collect(),
            accesses: 0,
            evictions: 0,
            due: VecDeque::new(),
            borrowed: 0.0,
            expected: 0.0,
            variance: 0.0,
        }
    }

    /// Returns whether a step is as the visible ones before it ask for.
    fn follow(&mut self, step: &VisiblePlaces) -> bool {
        match step.written {
            None => self.due.is_empty() && self.access(step),
            Some((level, bucket)) => {
                self.due.pop_front() == Some((level.0, bucket as u32))
                    && self.write(step, level.0, bucket as u32)
            }
        }
    }

    fn access(&mut self, step: &VisiblePlaces) -> bool {
        let (top, leaf_level) = (self.configuration.top_levels, self.configuration.levels - 1);
        let mut is_sound = step.places.read.len() == self.levels.len() && step.places.written.is_empty();
        let mut worn = Vec::new();
        for ((level, place), nth) in step.places.read.iter().zip(top..) {
            let bucket = step.leaf.0 as u32 >> (leaf_level - nth);
            let state = &mut self.levels[(nth - top) as usize];
            let own = state.own;
            let (live, reads, max) = &mut state.buckets[bucket as usize];
            let share =
                live.iter().filter(|place| **place / own != bucket).count() as f64 / live.len() as f64;
            self.borrowed += f64::from(u8::from(place / own != bucket));
            self.expected += share;
            self.variance += share * (1.0 - share);
            *reads += 1;
            is_sound &= level.0 == nth && live.remove(place) && state.live.remove(place) && *reads <= *max;
            if *reads == *max {
                worn.push((nth, bucket));
            }
            state.give_back(*place, bucket);
            state.lend(*place, &self.configuration);
        }
        self.accesses += 1;
        if self.accesses.is_multiple_of(self.configuration.eviction_rate.into()) {
            let leaf = (self.evictions.reverse_bits() >> (u64::BITS - leaf_level)) as u32;
            self.evictions += 1;
            self.due.extend((top..=leaf_level).rev().map(|level| (level, leaf >> (leaf_level - level))));
        }
        let evicted: Vec<_> = self.due.iter().copied().collect();
        self.due.extend(worn.into_iter().filter(|bucket| !evicted.contains(bucket)));
        is_sound
    }

    fn write(&mut self, step: &VisiblePlaces, level: u32, bucket: u32) -> bool {
        let configuration = self.configuration;
        let (z, whole) =
            (configuration.blocks_per_bucket, configuration.blocks_per_bucket + configuration.reads);
        let state = &mut self.levels[(level - configuration.top_levels) as usize];
        let own = state.own;
        let live = std::mem::take(&mut state.buckets[bucket as usize].0);
        let is_read = step.places.read.iter().all(|(_, place)| live.contains(place));
        // An order that says nothing of what is there.
        let is_sound =
            is_read && step.places.read.is_sorted() && step.places.read.len() == live.len().min(z as usize);
        for place in live {
            state.live.remove(&place);
            state.give_back(place, bucket);
            if place / own != bucket {
                state.lend(place, &configuration);
            }
        }
        let elsewhere = |place: &u32| state.queue.contains(place) || state.live.contains(place);
        let mut places: BTreeSet<u32> =
            (bucket * own..(bucket + 1) * own).filter(|place| !elsewhere(place)).collect();
        while places.len() < (own + configuration.more).min(whole) as usize
            && (places.len() < own as usize || state.queue.len() > configuration.queue / 2)
            && let Some(place) = state.queue.pop_front()
        {
            state.lent[bucket as usize] -= u32::from(place / own == bucket);
            places.insert(place);
        }
        let written: Vec<u32> = step.places.written.iter().map(|(_, place)| *place).collect();
        let is_sound = is_sound && written == places.iter().copied().collect::<Vec<_>>();
        state.live.extend(&places);
        let max = places.len() - z as usize;
        state.buckets[bucket as usize] = (places, 0, max);
        is_sound
    }

    /// Standard deviations by which reads of borrowed places differ from their share.
    fn deviation(&self) -> f64 {
        (self.borrowed - self.expected) / self.variance.sqrt()
    }
}

#[test]
fn places_are_lent_and_borrowed_as_the_visible_steps_say_and_each_is_read_as_often_as_others() {
    for (slots, queue) in [(7, 64), (9, 64), (10, 64), (10, 3), (12, 64), (8, 0)] {
        let configuration = AdjustableConfiguration { queue, ..configuration(slots) };
        for blocks in [1, configuration.blocks()] {
            let mut reference = ReferencePlaces::new(configuration);
            let steps = observed(configuration, (blocks, 6000), None);
            let wrong = steps.iter().position(|step| !reference.follow(step));
            assert_eq!(wrong, None, "{slots} slots, a queue of {queue}, {blocks} blocks");
            assert!(
                reference.variance == 0.0 || reference.deviation().abs() < 5.0,
                "{}",
                reference.deviation()
            );
        }
    }
}

#[test]
fn places_that_are_lent_by_what_was_in_them_are_found() {
    let configuration = configuration(10);
    let mut reference = ReferencePlaces::new(configuration);
    let steps =
        observed(configuration, (configuration.blocks(), 6000), Some(InjectedBug::PlacesOfBlocksAreNotLent));
    assert!(!steps.iter().all(|step| reference.follow(step)));
}

#[test]
fn blocks_that_are_never_in_borrowed_places_are_found() {
    let configuration = configuration(10);
    let mut reference = ReferencePlaces::new(configuration);
    let steps =
        observed(configuration, (configuration.blocks(), 24_000), Some(InjectedBug::BlocksAreInOwnPlaces));
    assert!(steps.iter().all(|step| reference.follow(step)), "the places are sound");
    assert!(reference.deviation() < -7.0, "{}", reference.deviation());
}

#[test]
fn borrowed_slots_save_some_of_the_reshuffles_that_small_buckets_cost() {
    let reshuffles = |slots, queue| {
        let configuration = AdjustableConfiguration { queue, ..configuration(slots) };
        let mut oram = oram(configuration);
        oram.access(accesses(configuration.blocks(), 20_000), false, |_| ())
            .expect("no time is taken")
            .reshuffles
    };
    let (whole, small, lent) = (reshuffles(12, 0), reshuffles(10, 0), reshuffles(10, 64));
    assert!(lent > whole && lent < small - (small - whole) / 5, "{whole}, {small}, {lent}");
}

#[test]
fn every_block_stays_where_its_leaf_is_and_the_stash_small() {
    let configuration = configuration(8);
    let mut oram = oram(configuration);
    let outcome =
        oram.access(accesses(configuration.blocks(), 20_000), true, |_| ()).expect("a sound layout");
    assert!(outcome.stash < 60 && outcome.cycles > 0, "{outcome:?}");
    let leaf_level = configuration.levels - 1;
    let mut found: BTreeSet<u32> = oram.stash.iter().copied().collect();
    for level in &oram.levels {
        for (bucket, block) in level.contents() {
            assert_eq!(oram.positions[block as usize] >> (leaf_level - level.level()), bucket);
            assert!(found.insert(block), "block {block} is there twice");
        }
    }
    assert_eq!(found.len() as u64, configuration.blocks());
}

#[test]
fn buckets_that_cannot_be_read_are_one_clear_error() {
    let error = |configuration| {
        AdjustableOram::new(configuration, &Specification::usimm(), 1).err().map(|error| error.to_string())
    };
    let message = "buckets of 5 slots near the leaves: give more than 5 and at most 12, and no rate of 0";
    assert_eq!(error(configuration(5)).as_deref(), Some(message));
    assert!(error(AdjustableConfiguration { levels: 23, ..configuration(10) }).is_some());
}
