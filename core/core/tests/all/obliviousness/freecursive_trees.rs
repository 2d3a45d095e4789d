//! The front end of Freecursive ORAM over other trees than Path ORAM's.

use super::schemes::{freecursive_parameters, freecursive_subject, raw_parameters};
use super::setup::*;
use Sequence::*;
use ameles_core::schemes::freecursive::{
    BackendParameters, FreecursiveOram, FreecursiveParameters, TrustedHits,
};
use ameles_core::schemes::raw::RawParameters;
use ameles_core::schemes::ring::RingParameters;
use ameles_core::testing::mutants::{ShowsHits, Uneven};
use ameles_core::testing::oblivious::{Adversary, Sequence};
use ameles_core::testing::{TraceStore, small_ring};
use ameles_core::types::{Bucket, Level};

/// Evictions come every second path: between the three of an access, and after them.
fn over_raw() -> FreecursiveParameters {
    let base = freecursive_parameters(TrustedHits::ReadThePath);
    let (capacity, block_bytes) = (base.tree.capacity(), base.tree.block_bytes());
    let raw = RawParameters { capacity, block_bytes, eviction_rate: 2, max_batch: 1, ..raw_parameters() };
    FreecursiveParameters { tree: BackendParameters::Raw(raw), ..base }
}

/// The parameters over a Ring ORAM with sixteen leaves, and buckets that are reshuffled now and then.
fn over_ring() -> FreecursiveParameters {
    let base = freecursive_parameters(TrustedHits::ReadThePath);
    let (capacity, block_bytes) = (base.tree.capacity(), base.tree.block_bytes());
    let ring = RingParameters {
        capacity,
        block_bytes,
        top: Level(0),
        eviction_rate: 2,
        max_batch: 1,
        stash_bound: 1000,
        ..small_ring(6)
    };
    FreecursiveParameters { tree: BackendParameters::Ring(ring), ..base }
}

#[test]
fn freecursive_oram_over_raw_and_over_ring_oram_shows_nothing_of_what_was_asked() {
    for (name, parameters) in [("over RAW", over_raw()), ("over Ring", over_ring())] {
        let run: Run<'_> = &|seed, script, pace| {
            let store = TraceStore::new(parameters.tree.layout());
            let oram = FreecursiveOram::new(parameters.clone(), Bucket(0), &store, rng(seed)).expect("valid");
            drive(&oram, &store, script, pace, current_work())
        };
        // The front end is judged with all pairs over Path ORAM, and the trees are by themselves.
        let cases = [
            (PaceKind::Prompt, (OneBlock, Sweep)),
            (PaceKind::Late, (Mixed, Random)),
            (PaceKind::Late, (Dummies, NeverWritten)),
        ];
        for (shown, (pace_kind, pair)) in (0..).zip(cases) {
            let subject = freecursive_subject(parameters.clone(), shown, run);
            let mut pool = subject.pool();
            subject.must_pass_pair(name, pace_kind, pair, &mut pool);
            assert!(pool.judge().passes(), "{name}, {pace_kind:?}, {pair:?}: {}", pool.judge());
        }
    }
}

#[test]
fn a_front_end_over_raw_or_ring_oram_that_shows_how_many_paths_it_saves_is_caught() {
    for parameters in [over_raw(), over_ring()] {
        let caught = |run: Run<'_>, pair, finding| {
            let subject = freecursive_subject(parameters.clone(), 0, run);
            let judgement = subject.judge(Adversary::Full, pair, PaceKind::Prompt);
            println!("{pair:?}: {judgement}");
            assert!(judgement.alarmed(finding), "no alarm of {finding}: {judgement}");
        };
        let store = || TraceStore::new(parameters.tree.layout());
        caught(
            &|seed, script, pace| {
                let store = store();
                let oram = FreecursiveOram::new(parameters.clone(), Bucket(0), &store, rng(seed));
                drive(&ShowsHits(oram.expect("valid")), &store, script, pace, current_work())
            },
            (OneBlock, Sweep),
            "one: shape",
        );
        caught(
            &|seed, script, pace| {
                let store = store();
                let oram = FreecursiveOram::new(parameters.clone(), Bucket(0), &store, Uneven(rng(seed)));
                drive(&oram.expect("valid"), &store, script, pace, current_work())
            },
            (Random, Zipf),
            "leaves",
        );
    }
}
