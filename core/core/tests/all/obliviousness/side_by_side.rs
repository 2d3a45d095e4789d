//! Two ORAMs that alternate, batch by batch. They may share a source of randomness, but not the numbers that it draws.

use super::large_trees::{CAPACITY, FILLING, ring_parameters};
use super::setup::*;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::ring::RingOram;
use ameles_core::testing::oblivious::{
    Adversary, Batches, Judgement, Sequence, Trial, judge, judge_side_by_side, ring,
};
use ameles_core::testing::{ArrayModel, Driver, Operation, TraceStore};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;
use std::cell::RefCell;
use std::rc::Rc;

/// A source of randomness that several ORAMs draw from in turn.
#[derive(Clone)]
struct Shared(Rc<RefCell<ChaCha8Rng>>);

impl Shared {
    fn of(seed: u64) -> Self {
        Shared(Rc::new(RefCell::new(rng(seed))))
    }
}

impl RngCore for Shared {
    fn next_u32(&mut self) -> u32 {
        self.0.borrow_mut().next_u32()
    }
    fn next_u64(&mut self) -> u64 {
        self.0.borrow_mut().next_u64()
    }
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.0.borrow_mut().fill_bytes(bytes);
    }
}

/// Runs each script on an ORAM of its own, which draws from the source of the same number. The ORAMs take turns, and a
/// step of off-line work stays pending each time.
fn run(sources: [Shared; 2], scripts: [Vec<Vec<Operation>>; 2]) -> [Trial; 2] {
    let stores = [0, 1].map(|_| TraceStore::new(ring_parameters().layout()));
    let orams = [0, 1].map(|nth: usize| {
        let positions = FlatPositionMap::new(Positions::new(CAPACITY));
        RingOram::new(ring_parameters(), &stores[nth], positions, sources[nth].clone())
            .expect("valid parameters")
    });
    let mut stages = [0, 1].map(|nth: usize| {
        let model = ArrayModel::new(CAPACITY, 0);
        Driver::new(&orams[nth], &stores[nth], model)
    });
    for nth in 0..scripts[0].len() {
        for (driver, script) in stages.iter_mut().zip(&scripts) {
            driver.begin_access(&script[nth]);
            while driver.query_pending().0 > u64::from(nth > FILLING) {
                driver.begin_step();
            }
        }
    }
    let [one, other] = scripts;
    let [mut first, mut second] = stages;
    [
        Trial { operations: one, events: first.take_events() },
        Trial { operations: other, events: second.take_events() },
    ]
}

/// Judges each by itself, and both against each other.
fn judged(sources: impl Fn(u64) -> [Shared; 2]) -> [Judgement; 2] {
    let pairs = (0..2).map(|nth| {
        let batches = Batches { count: 2000, max: MAX_BATCH as usize, seed: nth };
        let scripts = [Sequence::OneBlock, Sequence::Zipf].map(|of| of.operations(CAPACITY, batches, nth));
        run(sources(nth), scripts).into()
    });
    let (one, other): (Vec<Trial>, Vec<Trial>) = pairs.unzip();
    let leaves = 1 << ring_parameters().leaf_level.0;
    let observer = |seed| ring::observer(&ring_parameters(), Adversary::Full, seed);
    let judgements =
        [judge(leaves, observer, &one, &other), judge_side_by_side(leaves, observer, &one, &other)];
    judgements.iter().for_each(|judgement| println!("{judgement}"));
    judgements
}

#[test]
fn two_orams_that_draw_from_one_source_in_turn_show_nothing() {
    let judgements = judged(|seed| {
        let source = Shared::of(seed);
        [source.clone(), source]
    });
    for judgement in judgements {
        count_tests(judgement.findings.len());
        assert!(judgement.passes(), "{judgement}");
    }
}

#[test]
fn two_orams_with_the_same_seed_are_caught_although_each_by_itself_passes() {
    let [each, together] = judged(|seed| [Shared::of(seed), Shared::of(seed)]);
    for side in ["one", "other"] {
        assert!(!each.alarmed(&format!("{side}:")), "{each}");
    }
    assert!(together.alarmed("steps between leaves side by side"), "{together}");
    assert!(together.alarmed("repeats of the other's last 16 leaves"), "{together}");
}
