//! Tests the parallel ORAM against an adversary that sees the traces of all processors and their messages. The same
//! judge must catch each of the broken ones.

use super::setup::*;
use Sequence::*;
use ameles_core::network::Network;
use ameles_core::position_map::PositionMap;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::parallel::{ParallelOram, ParallelParameters};
use ameles_core::testing::mutants::{
    Deduplicates, KeepsToOwnPart, NeverRemaps, RepeatsPaths, ReusesLeafSometimes, SkipsDummies, SkipsHits,
    TrimsMessages, Uneven,
};
use ameles_core::testing::oblivious::{Judgement, Sequence, Trial, judge, parallel};
use ameles_core::testing::{ProcessorStore, TraceStore, TraceStoreError, processor_stores};
use ameles_core::types::Level;
use rand_chacha::rand_core::RngCore;

/// Thirty-two leaves, divided among this many processors.
fn parameters(processors: u32) -> ParallelParameters {
    ParallelParameters {
        capacity: 64,
        block_bytes: 1,
        processors,
        leaf_level: Level(5),
        top: Level(3),
        blocks_per_bucket: 2,
        stash_bound: 1000,
    }
}

type Flat = FlatPositionMap<TraceStoreError>;

fn flat() -> Flat {
    FlatPositionMap::new(Positions::new(64))
}

/// A parallel ORAM of these parts.
fn oram<N, P, R>(
    processors: u32,
    store: &TraceStore,
    network: N,
    positions: P,
    random: R,
) -> ParallelOram<ProcessorStore<&TraceStore>, N, P, R>
where
    N: Network<Error = TraceStoreError>,
    P: PositionMap<Error = TraceStoreError>,
    R: RngCore,
{
    let stores = processor_stores(store, processors);
    ParallelOram::new(parameters(processors), stores, network, positions, random).expect("valid parameters")
}

/// Runs of a sequence, whose requests are told in the order of the places at which they show.
fn trials(processors: u32, sequence: Sequence, pace_kind: PaceKind, side: u64, run: Run<'_>) -> Vec<Trial> {
    let max = processors.min(MAX_BATCH);
    let mut trials = super::setup::trials(MANY_RUNS, (32, 64), max, sequence, pace_kind, side, run);
    for Trial { operations, .. } in &mut trials {
        for round in operations {
            *round = parallel::in_order_of_places(round, processors as usize);
        }
    }
    trials
}

fn judged(processors: u32, pair: (Sequence, Sequence), pace_kind: PaceKind, run: Run<'_>) -> Judgement {
    let observer = |seed| parallel::observer(&parameters(processors), seed);
    let trials = |sequence, side| trials(processors, sequence, pace_kind, side, run);
    judge(32, observer, &trials(pair.0, 1), &trials(pair.1, 2))
}

/// A run of what the last expression builds over a store, for four processors.
macro_rules! run {
    (|$store:ident, $seed:ident| $oram:expr) => {
        &|$seed, script, pace| {
            let $store = &TraceStore::new(parameters(4).layout());
            drive(&$oram, $store, script, pace, current_work())
        }
    };
}

#[test]
fn a_parallel_oram_shows_nothing_of_what_was_asked_in_any_trace_or_message() {
    for (processors, pace_kind) in [(4, PaceKind::Prompt), (4, PaceKind::Concurrent), (8, PaceKind::Prompt)] {
        let run: Run<'_> = &|seed, script, pace| {
            let store = TraceStore::new(parameters(processors).layout());
            let oram = oram(processors, &store, &store, flat(), rng(seed));
            drive(&oram, &store, script, pace, current_work())
        };
        for pair in PAIRS {
            let judgement = judged(processors, pair, pace_kind, run);
            println!("{processors} processors, {pace_kind:?}, {pair:?}: {judgement}");
            count_tests(judgement.findings.len());
            assert!(judgement.passes(), "{processors} processors, {pace_kind:?}, {pair:?}: {judgement}");
        }
    }
}

/// The judge alarms, and this finding is among the alarms.
fn assert_caught(run: Run<'_>, pair: (Sequence, Sequence), finding: &str) {
    let judgement = judged(4, pair, PaceKind::Prompt, run);
    println!("{pair:?}: {judgement}");
    assert!(judgement.alarmed(finding), "no alarm of {finding}: {judgement}");
}

#[test]
fn a_second_request_for_a_block_that_is_not_found_out_is_caught() {
    let run: Run<'_> = run!(|store, seed| oram(4, store, store, RepeatsPaths(flat()), rng(seed)));
    assert_caught(run, (OneBlock, Sweep), "one: steps between leaves 1 apart");
    assert_caught(run, (OneBlock, Sweep), "one: repeats of the last leaf");
}

#[test]
fn a_load_that_shows_in_the_length_of_a_message_is_caught() {
    let run: Run<'_> = run!(|store, seed| oram(4, store, TrimsMessages(store), flat(), rng(seed)));
    for pair in PAIRS {
        assert_caught(run, pair, "one: shape");
    }
}

#[test]
fn a_processor_that_skips_its_dummy_is_caught() {
    let run: Run<'_> = run!(|store, seed| oram(4, store, SkipsDummies(store), flat(), rng(seed)));
    assert_caught(run, (Dummies, Random), "one: shape");
    assert_caught(run, (OneBlock, Sweep), "one: shape");
}

#[test]
fn a_block_that_stays_with_the_processor_that_asked_for_it_is_caught() {
    // Two bits of a leaf say whose it is, three where.
    let run: Run<'_> = run!(|store, seed| oram(4, store, store, KeepsToOwnPart::new(flat(), 3), rng(seed)));
    assert_caught(run, (OneBlock, Sweep), "one: leaves of");
    assert_caught(run, (OneBlock, Sweep), "both: leaves of one distribution");
}

#[test]
fn a_leaf_that_is_used_again_is_caught() {
    let run: Run<'_> = run!(|store, seed| oram(4, store, store, NeverRemaps(flat()), rng(seed)));
    assert_caught(run, (OneBlock, Sweep), "one: steps between leaves of one block");
    let run: Run<'_> =
        run!(|store, seed| oram(4, store, store, ReusesLeafSometimes::new(flat(), 100, seed), rng(seed)));
    assert_caught(run, (OneBlock, Sweep), "leaves");
}

#[test]
fn a_round_that_is_left_out_because_all_is_known_is_caught() {
    let run: Run<'_> = run!(|store, seed| SkipsHits::new(oram(4, store, store, flat(), rng(seed))));
    assert_caught(run, (TwoBlocks, Sweep), "one: shape");
}

#[test]
fn leaves_that_are_a_little_uneven_are_caught() {
    let run: Run<'_> = run!(|store, seed| oram(4, store, store, flat(), Uneven(rng(seed))));
    assert_caught(run, (Random, Zipf), "leaves");
}

#[test]
fn a_round_shows_the_same_however_many_requests_are_in_it() {
    // What gives other schemes away: duplicates that are left out of a batch.
    let run: Run<'_> = run!(|store, seed| Deduplicates(oram(4, store, store, flat(), rng(seed))));
    let judgement = judged(4, (OneBlock, Sweep), PaceKind::Prompt, run);
    count_tests(judgement.findings.len());
    assert!(judgement.passes(), "{judgement}");
}
