//! Trees of 2^12 leaves. In these, a path rarely comes again by chance, so a repeated path reveals a flaw. The schemes
//! as they are, and schemes whose choices each look uniform but depend on one another now and then.

use super::setup::*;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::circuit::{CircuitOram, CircuitParameters};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::schemes::raw::{RawOram, RawParameters};
use ameles_core::schemes::ring::{RingBucket, RingOram, RingParameters};
use ameles_core::testing::mutants::{
    Bias, BiasedLeaves, DrawsOnce, Occasion, OneDraw, ReusesLeafSometimes, SharedDraw, Source,
};
use ameles_core::testing::oblivious::{
    EvictionRate, Judgement, Pace, Pool, Sequence, circuit, path, raw, ring, run_script,
};
use ameles_core::testing::{Event, Operation, TraceStore};
use ameles_core::types::{Bucket, Level};
use std::rc::Rc;

const LEAF_LEVEL: Level = Level(12);
/// The number of blocks: half of them are written first, one for each leaf. By then every bucket was written.
pub(super) const CAPACITY: u64 = 2 << 12;
pub(super) const FILLING: usize = (CAPACITY / 2) as usize / MAX_BATCH as usize;
/// Few runs and long ones: 2 * 2^12 accesses go into filling the trees, and about 10,000 are judged.
pub(super) const LONG_RUNS: Effort = Effort { runs: 2, batches: 2000 };

const BLOCK_AND_ZIPF: (Sequence, Sequence) = (Sequence::OneBlock, Sequence::Zipf);
/// The sequences whose draws nearly all show.
const SWEEP_AND_RANDOM: (Sequence, Sequence) = (Sequence::Sweep, Sequence::Random);

/// The effort of runs that are long enough to show a leaf that is never drawn.
const LONGER_RUNS: Effort = Effort { runs: 2, batches: 9000 };

/// The mistakes of a scheme, each in this many of a thousand accesses or batches.
#[derive(Clone, Copy, Debug)]
struct Flaws {
    reuses_leaf: usize,
    draws_once: (Source, usize),
    bias: (Bias, usize),
}

const SOUND: Flaws = Flaws { reuses_leaf: 0, draws_once: (Source::Fresh, 0), bias: (Bias::LowerOfTwo, 0) };

fn reuses_leaf(per_mille: usize) -> Flaws {
    Flaws { reuses_leaf: per_mille, ..SOUND }
}

fn draws_once(source: Source, per_mille: usize) -> Flaws {
    Flaws { draws_once: (source, per_mille), ..SOUND }
}

fn biased(bias: Bias, per_mille: usize) -> Flaws {
    Flaws { bias: (bias, per_mille), ..SOUND }
}

impl Flaws {
    fn positions<E>(self, seed: u64) -> BiasedLeaves<ReusesLeafSometimes<FlatPositionMap<E>>> {
        let map = FlatPositionMap::new(Positions::new(CAPACITY));
        let map = ReusesLeafSometimes::new(map, self.reuses_leaf, seed);
        let flaw = (self.bias.0, Occasion::Always, self.bias.1);
        BiasedLeaves::new(map, 1 << LEAF_LEVEL.0, flaw, seed)
    }
}

pub(super) fn ring_parameters() -> RingParameters {
    RingParameters {
        capacity: CAPACITY,
        block_bytes: 0,
        leaf_level: LEAF_LEVEL,
        top: Level(4),
        eviction_rate: 1,
        reads: 8,
        inner: RingBucket { blocks: 4, slots: 12 },
        leaf: RingBucket { blocks: 10, slots: 18 },
        max_batch: MAX_BATCH,
        stash_bound: 1000,
        slice_slots: u32::MAX,
    }
}

pub(super) fn path_parameters() -> PathParameters {
    PathParameters {
        capacity: CAPACITY,
        block_bytes: 0,
        leaf_level: LEAF_LEVEL,
        top: Level(4),
        blocks_per_bucket: 4,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

fn circuit_parameters() -> CircuitParameters {
    CircuitParameters {
        capacity: CAPACITY,
        block_bytes: 0,
        leaf_level: LEAF_LEVEL,
        top: Level(4),
        blocks_per_bucket: 3,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

fn raw_parameters() -> RawParameters {
    RawParameters {
        capacity: CAPACITY,
        block_bytes: 0,
        leaf_level: LEAF_LEVEL,
        top: Level(4),
        blocks_per_bucket: 3,
        eviction_rate: 2,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

/// The schemes that have leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Ring,
    Path,
    Circuit,
    Raw,
}

impl Scheme {
    fn run(self, flaws: Flaws, seed: u64, script: &[Vec<Operation>], pace: Pace) -> Vec<Event> {
        let (random, positions) = (rng(seed), flaws.positions(seed));
        match self {
            Scheme::Ring => {
                let store = TraceStore::new(ring_parameters().layout());
                let (kept, current_work) = (SharedDraw::default(), current_work());
                let (source, per_mille) = flaws.draws_once;
                let positions = DrawsOnce::new(positions, Rc::clone(&kept), source, per_mille, !seed);
                let random = OneDraw { random, kept, current_work: Rc::clone(&current_work) };
                let oram =
                    RingOram::new(ring_parameters(), &store, positions, random).expect("valid parameters");
                run_script(&oram, &store, script, FILLING, pace, current_work)
            }
            Scheme::Path => {
                let store = TraceStore::new(path_parameters().layout());
                let oram = PathOram::new(path_parameters(), Bucket(0), &store, positions, random)
                    .expect("valid parameters");
                run_script(&oram, &store, script, FILLING, pace, current_work())
            }
            Scheme::Circuit => {
                let store = TraceStore::new(circuit_parameters().layout());
                let oram = CircuitOram::new(circuit_parameters(), &store, positions, random)
                    .expect("valid parameters");
                run_script(&oram, &store, script, FILLING, pace, current_work())
            }
            Scheme::Raw => {
                let store = TraceStore::new(raw_parameters().layout());
                let oram = RawOram::new(raw_parameters(), Bucket(0), &store, positions, random)
                    .expect("valid parameters");
                run_script(&oram, &store, script, FILLING, pace, current_work())
            }
        }
    }

    fn pool(self) -> Pool {
        Pool::new(1 << LEAF_LEVEL.0, self.rate())
    }

    /// The pace at which most is in flight that the scheme's watch can follow.
    fn busiest(self) -> PaceKind {
        if self == Scheme::Ring { PaceKind::Overlapping } else { PaceKind::Concurrent }
    }

    /// Judges runs whose randomness follows from `seed`.
    fn judged(self, flaws: Flaws, pace_kind: PaceKind, seed: u64) -> Judgement {
        self.judged_with(LONG_RUNS, BLOCK_AND_ZIPF, flaws, (pace_kind, seed), &mut Pool::new(1, self.rate()))
    }

    /// The evictions by the count of accesses.
    fn rate(self) -> EvictionRate {
        match self {
            Scheme::Ring | Scheme::Path => rate(1, 1),
            Scheme::Circuit => rate(2, 1),
            Scheme::Raw => rate(1, 2),
        }
    }

    /// Does the same as `judged` over runs of this length, and adds their draws to a pool.
    fn judged_with(
        self,
        effort: Effort,
        pair: (Sequence, Sequence),
        flaws: Flaws,
        (pace_kind, seed): (PaceKind, u64),
        pool: &mut Pool,
    ) -> Judgement {
        let subject = Subject {
            effort,
            capacity: CAPACITY,
            leaves: 1 << LEAF_LEVEL.0,
            rate: self.rate(),
            max_batch: MAX_BATCH,
            run: &|nth, script, pace| self.run(flaws, nth ^ seed << 40, script, pace),
            observer: Box::new(move |adversary, nth| match self {
                Scheme::Ring => ring::observer(&ring_parameters(), adversary, nth ^ seed << 40),
                Scheme::Path => path::observer(&path_parameters(), adversary, nth ^ seed << 40),
                Scheme::Circuit => circuit::observer(&circuit_parameters(), adversary, nth ^ seed << 40),
                Scheme::Raw => raw::observer(&raw_parameters(), adversary, nth ^ seed << 40),
            }),
        };
        let judgement = subject.judge_pair(pair, pace_kind, pool);
        println!("{self:?}, {pace_kind:?}, {flaws:?}, {seed}: {judgement}");
        judgement
    }
}

const SCHEMES: [Scheme; 4] = [Scheme::Ring, Scheme::Path, Scheme::Circuit, Scheme::Raw];

#[test]
fn the_sound_schemes_pass() {
    for scheme in SCHEMES {
        let mut pool = scheme.pool();
        for (pair, pace_kind) in [(BLOCK_AND_ZIPF, PaceKind::Prompt), (SWEEP_AND_RANDOM, scheme.busiest())] {
            let judgement = scheme.judged_with(LONGER_RUNS, pair, SOUND, (pace_kind, 0), &mut pool);
            count_tests(judgement.findings.len());
            assert!(judgement.passes(), "{scheme:?}, {pace_kind:?}: {judgement}");
        }
        must_pass_pooled(&format!("{scheme:?}, large"), &pool);
    }
}

#[test]
fn a_leaf_that_is_never_drawn_and_bits_that_are_a_little_uneven_are_caught() {
    for (bias, per_mille, family) in [
        (Bias::Never(3000), 1000, "leaves one by one"),
        (Bias::Clear(0), 50, "leaves, by low bits"),
        (Bias::Clear(5), 50, "bits of leaves"),
        (Bias::Alike(3, 9), 50, "bits of leaves"),
    ] {
        let mut pool = Scheme::Path.pool();
        for pair in [BLOCK_AND_ZIPF, SWEEP_AND_RANDOM] {
            let flaws = biased(bias, per_mille);
            Scheme::Path.judged_with(LONGER_RUNS, pair, flaws, (PaceKind::Prompt, 0), &mut pool);
        }
        assert!(pool.judge().alarmed(family), "{bias:?}: no alarm of {family}: {}", pool.judge());
    }
}

/// The findings that catch a flaw, on both sides.
fn caught(flaws: Flaws) -> &'static [&'static str] {
    match flaws {
        Flaws { reuses_leaf: 1.., .. } => &["repeats of the block's last 16 leaves"],
        Flaws { draws_once: (Source::Fresh, _), .. } => &["steps between slots of one access"],
        Flaws { draws_once: (Source::NextLeaf, _), .. } => {
            &["steps between slots of one access", "slots against the block's next leaf"]
        }
    }
}

/// The findings that the judge does not alarm of, although it should.
fn missed(scheme: Scheme, flaws: Flaws, pace_kind: PaceKind, seed: u64) -> Vec<String> {
    let judgement = scheme.judged(flaws, pace_kind, seed);
    let findings =
        caught(flaws).iter().flat_map(|finding| ["one", "other"].map(|side| format!("{side}: {finding}")));
    findings.filter(|finding| !judgement.alarmed(finding)).collect()
}

fn must_be_caught(schemes: &[Scheme], flaws: Flaws) {
    for scheme in schemes {
        for pace_kind in [PaceKind::Prompt, scheme.busiest()] {
            let missed = missed(*scheme, flaws, pace_kind, 0);
            assert!(missed.is_empty(), "{scheme:?}, {pace_kind:?}: no alarm of {missed:?}");
        }
    }
}

#[test]
fn a_leaf_that_is_used_again_in_one_access_of_fifty_is_caught() {
    must_be_caught(&SCHEMES, reuses_leaf(20));
}

#[test]
fn one_draw_for_all_the_dummies_of_an_access_is_caught_even_if_it_is_one_batch_of_ten() {
    must_be_caught(&[Scheme::Ring], draws_once(Source::Fresh, 100));
}

#[test]
fn dummies_that_follow_the_next_leaf_are_caught_even_if_it_is_one_batch_of_ten() {
    must_be_caught(&[Scheme::Ring], draws_once(Source::NextLeaf, 100));
}

/// The seeds that are tried by hand.
const SEEDS: u64 = 20;

#[test]
#[ignore = "minutes: `cargo xtask test --only unit --thorough` runs it"]
fn at_many_seeds_sound_schemes_pass_and_flaws_are_caught() {
    for seed in 1..=SEEDS {
        for scheme in SCHEMES {
            for pace_kind in [PaceKind::Prompt, scheme.busiest()] {
                let judgement = scheme.judged(SOUND, pace_kind, seed);
                assert!(judgement.passes(), "{scheme:?}, {pace_kind:?}, {seed}: {judgement}");
            }
        }
    }
    for (schemes, flaws) in [
        (&SCHEMES[..], [20, 15, 12, 10, 8, 5].map(reuses_leaf)),
        (&SCHEMES[..1], [100, 50, 30, 20, 10, 5].map(|per_mille| draws_once(Source::Fresh, per_mille))),
        (&SCHEMES[..1], [100, 70, 50, 40, 30, 20].map(|per_mille| draws_once(Source::NextLeaf, per_mille))),
    ] {
        for scheme in schemes {
            for flaws in flaws {
                let all =
                    (1..=SEEDS).filter(|seed| missed(*scheme, flaws, scheme.busiest(), *seed).is_empty());
                println!("by hand: {scheme:?}, {flaws:?}: caught at {} of {SEEDS} seeds", all.count());
            }
        }
    }
}
