//! Schemes that are broken on purpose. The judge must catch each of them with the number of runs with which it passes
//! the sound schemes.

use super::schemes::{
    circuit_parameters, circuit_subject, curious_parameters, curious_subject, freecursive_parameters,
    freecursive_subject, hierarchical_parameters, hierarchical_subject, judged_curious, judged_oblivistore,
    oblivistore_parameters, oblivistore_subject, path_parameters, path_subject, practical_os_parameters,
    practical_os_subject, raw_parameters, raw_subject, ring_subject, square_root_parameters,
    square_root_subject, trivial_parameters, trivial_subject, whole_buckets,
};
use super::setup::*;
use Sequence::*;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::circuit::CircuitOram;
use ameles_core::schemes::freecursive::{FreecursiveOram, TrustedHits};
use ameles_core::schemes::hierarchical::HierarchicalOram;
use ameles_core::schemes::oblivistore::oblivistore;
use ameles_core::schemes::path::PathOram;
use ameles_core::schemes::practical_os::PracticalOs;
use ameles_core::schemes::raw::RawOram;
use ameles_core::schemes::ring::RingOram;
use ameles_core::schemes::square_root::SquareRootOram;
use ameles_core::testing::mutants::{
    AnnouncesTarget, Deduplicates, Edit, EditingStore, LowBits, NeverRemaps, ReadsRandomPartition, Repeats,
    ShowsAnswers, ShowsHits, SkipsHits, SkipsUnchanged, StopsAtHit, StopsAtTarget, SwapsHalves, TargetBlock,
    Uneven, WaitsUntilFull,
};
use ameles_core::testing::oblivious::{Adversary, Pace, Sequence};
use ameles_core::testing::{Operation, TraceStore};
use ameles_core::types::Bucket;
use std::rc::Rc;

/// A run of a scheme that the last expression builds over a store.
macro_rules! run {
    ($layout:expr, |$store:ident, $work:ident, $seed:ident| $oram:expr) => {
        &|$seed: u64, script: &[Vec<Operation>], pace: Pace| {
            let $store = &TraceStore::new($layout);
            let $work = current_work();
            drive(&$oram, $store, script, pace, $work.clone())
        }
    };
}

macro_rules! run_ring {
    (|$store:ident, $work:ident, $seed:ident| $oram:expr) => {
        run!(whole_buckets().geometry().layout(), |$store, $work, $seed| $oram)
    };
}

macro_rules! run_path {
    (|$store:ident, $work:ident, $seed:ident| $oram:expr) => {
        run!(path_parameters().layout(), |$store, $work, $seed| $oram)
    };
}

fn flat<E>(capacity: u64) -> FlatPositionMap<E> {
    FlatPositionMap::new(Positions::new(capacity))
}

/// A Ring ORAM of these parts.
macro_rules! ring {
    ($store:expr, $random:expr) => {
        ring!($store, flat(whole_buckets().capacity), $random)
    };
    ($store:expr, $positions:expr, $random:expr) => {
        RingOram::new(whole_buckets(), $store, $positions, $random).expect("valid parameters")
    };
}

/// A Path ORAM of these parts.
macro_rules! path {
    ($store:expr, $random:expr) => {
        path!($store, flat(path_parameters().capacity), $random)
    };
    ($store:expr, $positions:expr, $random:expr) => {
        PathOram::new(path_parameters(), Bucket(0), $store, $positions, $random).expect("valid parameters")
    };
}

/// The judge alarms, and this finding is among the alarms.
fn assert_caught(subject: &Subject<'_>, adversary: Adversary, pair: (Sequence, Sequence), finding: &str) {
    let judgement = subject.judge(adversary, pair, PaceKind::Prompt);
    println!("{pair:?}, {adversary:?}: {judgement}");
    assert!(judgement.alarmed(finding), "no alarm of {finding}: {judgement}");
}

#[test]
fn a_leaf_that_is_used_again_is_caught() {
    let parameters = whole_buckets();
    let run = run_ring!(|store, _work, seed| ring!(store, NeverRemaps(flat(64)), rng(seed)));
    let subject = ring_subject(&parameters, run);
    assert_caught(&subject, Adversary::Full, (OneBlock, Sweep), "one: steps between leaves of one block");
    assert_caught(&subject, Adversary::Full, (OneBlock, Sweep), "other: steps between leaves of one block");
    let run = run_path!(|store, _work, seed| path!(store, NeverRemaps(flat(64)), rng(seed)));
    let subject = path_subject(path_parameters(), run);
    assert_caught(&subject, Adversary::Full, (Random, Zipf), "steps between leaves of one block");
    assert_caught(&subject, Adversary::Snapshot, (OneBlock, Sweep), "steps between leaves");
}

#[test]
fn a_hit_that_reads_nothing_is_caught() {
    let parameters = whole_buckets();
    let run = run_ring!(|store, _work, seed| SkipsHits::new(ring!(store, rng(seed))));
    assert_caught(&ring_subject(&parameters, run), Adversary::Full, (TwoBlocks, Sweep), "one: shape");
    let run = run_path!(|store, _work, seed| SkipsHits::new(path!(store, rng(seed))));
    assert_caught(&path_subject(path_parameters(), run), Adversary::Full, (TwoBlocks, Sweep), "one: shape");
}

#[test]
fn a_batch_without_its_duplicates_is_caught() {
    let parameters = whole_buckets();
    let run = run_ring!(|store, _work, seed| Deduplicates(ring!(store, rng(seed))));
    assert_caught(&ring_subject(&parameters, run), Adversary::Full, (OneBlock, Sweep), "one: shape");
    let run = run_path!(|store, _work, seed| Deduplicates(path!(store, rng(seed))));
    assert_caught(&path_subject(path_parameters(), run), Adversary::Full, (OneBlock, Sweep), "one: shape");
}

#[test]
fn an_eviction_that_depends_on_occupancy_is_caught() {
    let parameters = whole_buckets();
    for edit in [Edit::EvictsOnlyReal, Edit::SkipsEmptyBuckets] {
        let run =
            run_ring!(|store, work, seed| ring!(EditingStore::new(store, edit, 1, work.clone()), rng(seed)));
        assert_caught(&ring_subject(&parameters, run), Adversary::Full, (Sweep, Dummies), "shape");
    }
    let edit = Edit::SkipsEmptyBuckets;
    let run =
        run_ring!(|store, work, seed| ring!(EditingStore::new(store, edit, 1, work.clone()), rng(seed)));
    assert_caught(&ring_subject(&parameters, run), Adversary::Snapshot, (Sweep, Dummies), "shape");
    let run =
        run_path!(|store, work, seed| path!(EditingStore::new(store, edit, 1, work.clone()), rng(seed)));
    assert_caught(&path_subject(path_parameters(), run), Adversary::Snapshot, (Sweep, Dummies), "shape");
}

#[test]
fn buckets_that_are_not_permuted_are_caught() {
    let parameters = whole_buckets();
    let run = run_ring!(|store, work, seed| {
        ring!(EditingStore::new(store, Edit::RealFirst, 1, work.clone()), rng(seed))
    });
    assert_caught(
        &ring_subject(&parameters, run),
        Adversary::Full,
        (Sweep, Dummies),
        "other: slots of dummies",
    );
    // Neither permuted when written nor read at random: the first dummy that is unread.
    let run = run_ring!(|store, _work, seed| ring!(store, LowBits(rng(seed))));
    assert_caught(&ring_subject(&parameters, run), Adversary::Full, (Sweep, Dummies), "one: slots of");
}

#[test]
fn a_bucket_that_is_reshuffled_because_a_block_was_read_is_caught() {
    let parameters = whole_buckets();
    let run = run_ring!(|store, work, seed| {
        ring!(EditingStore::new(store, Edit::RewritesWhereReal, 1, work.clone()), rng(seed))
    });
    let subject = ring_subject(&parameters, run);
    assert_caught(&subject, Adversary::Full, (Sweep, Dummies), "one: shape");
    // An adversary that sees snapshots cannot tell which bucket was due, but counts them.
    assert_caught(&subject, Adversary::Snapshot, (Sweep, Dummies), "as many early reshuffles");
}

#[test]
fn leaves_that_are_a_little_uneven_are_caught() {
    let parameters = whole_buckets();
    let run = run_ring!(|store, _work, seed| ring!(store, Uneven(rng(seed))));
    assert_caught(&ring_subject(&parameters, run), Adversary::Full, (Random, Zipf), "leaves");
}

#[test]
fn a_scan_that_stops_at_the_hit_is_caught() {
    let run = run!(trivial_parameters().layout(), |store, _work, _seed| StopsAtHit {
        parameters: trivial_parameters(),
        store
    });
    for adversary in [Adversary::Full, Adversary::Snapshot] {
        assert_caught(
            &trivial_subject(trivial_parameters(), run),
            adversary,
            (OneBlock, Sweep),
            "one: shape",
        );
    }
}

/// A Circuit ORAM of these parts.
macro_rules! circuit {
    ($store:expr, $random:expr) => {
        circuit!($store, flat(circuit_parameters().capacity), $random)
    };
    ($store:expr, $positions:expr, $random:expr) => {
        CircuitOram::new(circuit_parameters(), $store, $positions, $random).expect("valid parameters")
    };
}

#[test]
fn what_breaks_the_other_schemes_is_caught_in_circuit_oram() {
    let caught = |run: Run<'_>, adversary, pair, finding| {
        assert_caught(&circuit_subject(circuit_parameters(), run), adversary, pair, finding);
    };
    let layout = || circuit_parameters().layout();
    let run = run!(layout(), |store, _work, seed| circuit!(store, NeverRemaps(flat(64)), rng(seed)));
    caught(run, Adversary::Full, (OneBlock, Sweep), "one: steps between leaves of one block");
    let run = run!(layout(), |store, _work, seed| SkipsHits::new(circuit!(store, rng(seed))));
    caught(run, Adversary::Full, (TwoBlocks, Sweep), "one: shape");
    let run = run!(layout(), |store, _work, seed| Deduplicates(circuit!(store, rng(seed))));
    caught(run, Adversary::Full, (OneBlock, Sweep), "one: shape");
    let run = run!(layout(), |store, work, seed| circuit!(
        EditingStore::new(store, Edit::SkipsEmptyBuckets, 1, work.clone()),
        rng(seed)
    ));
    for adversary in [Adversary::Full, Adversary::Snapshot] {
        caught(run, adversary, (Sweep, Dummies), "shape");
    }
}

/// A RAW ORAM of these parts.
macro_rules! raw {
    ($store:expr, $random:expr) => {
        raw!($store, flat(raw_parameters().capacity), $random)
    };
    ($store:expr, $positions:expr, $random:expr) => {
        RawOram::new(raw_parameters(), Bucket(0), $store, $positions, $random).expect("valid parameters")
    };
}

macro_rules! run_raw {
    (|$store:ident, $work:ident, $seed:ident| $oram:expr) => {
        run!(raw_parameters().layout(), |$store, $work, $seed| $oram)
    };
}

/// The number of headers of the judged RAW ORAM, which is also the number of bodies.
fn raw_headers() -> u64 {
    raw_parameters().layout().buckets() / 2
}

fn assert_raw_caught(run: Run<'_>, adversary: Adversary, pair: (Sequence, Sequence), finding: &str) {
    assert_caught(&raw_subject(raw_parameters(), run), adversary, pair, finding);
}

#[test]
fn what_breaks_the_other_schemes_is_caught_in_raw_oram() {
    let run = run_raw!(|store, _work, seed| raw!(store, NeverRemaps(flat(64)), rng(seed)));
    let finding = "one: steps between leaves of one block";
    assert_raw_caught(run, Adversary::Full, (OneBlock, Sweep), finding);
    assert_raw_caught(run, Adversary::Snapshot, (OneBlock, Sweep), finding);
    let run = run_raw!(|store, _work, seed| SkipsHits::new(raw!(store, rng(seed))));
    assert_raw_caught(run, Adversary::Full, (TwoBlocks, Sweep), "one: shape");
    let run = run_raw!(|store, _work, seed| Deduplicates(raw!(store, rng(seed))));
    assert_raw_caught(run, Adversary::Full, (OneBlock, Sweep), "one: shape");
}

#[test]
fn an_access_that_stops_at_its_block_is_caught() {
    let run = run_raw!(|store, _work, seed| {
        let target = TargetBlock::default();
        let stops = StopsAtTarget::new(store, raw_headers(), target.clone());
        AnnouncesTarget::new(raw!(stops, rng(seed)), target)
    });
    assert_raw_caught(run, Adversary::Full, (Sweep, Dummies), "one: shape");
}

#[test]
fn an_access_that_writes_back_only_the_header_that_it_changed_is_caught() {
    let run = run_raw!(|store, _work, seed| raw!(SkipsUnchanged::new(store, raw_headers()), rng(seed)));
    for adversary in [Adversary::Full, Adversary::Snapshot] {
        assert_raw_caught(run, adversary, (Sweep, Dummies), "shape");
    }
}

#[test]
fn evictions_in_another_order_are_caught() {
    let top = raw_parameters().top.0;
    let run = run_raw!(|store, _work, seed| raw!(SwapsHalves::new(store, raw_headers(), top), rng(seed)));
    for adversary in [Adversary::Full, Adversary::Snapshot] {
        assert_raw_caught(run, adversary, (Sweep, Dummies), "shape");
    }
}

#[test]
fn an_eviction_that_waits_until_the_stash_is_full_is_caught() {
    let run = run_raw!(|store, _work, seed| {
        WaitsUntilFull::new(raw!(store, rng(seed)), RawOram::stash_blocks, 10)
    });
    assert_raw_caught(run, Adversary::Full, (OneBlock, Sweep), "shape");
}

/// Checks that a scheme whose memory is rebuilt is caught in three cases. It skips hits. It serves a block of a batch
/// once, which this adversary sees. Or a rebuild of the first `$rebuilt` buckets leaves blocks that are already in
/// place.
macro_rules! assert_rebuilds_caught {
    ($new:expr, $parameters:expr, $subject:expr, $adversary:expr, $rebuilt:expr) => {
        let layout = $parameters.layout();
        let caught = |run: Run<'_>, adversary, pair, finding| {
            assert_caught(&$subject($parameters, run), adversary, pair, finding);
        };
        let run = run!(layout.clone(), |store, _work, seed| SkipsHits::new(
            $new($parameters, Bucket(0), store, rng(seed)).expect("valid parameters")
        ));
        caught(run, Adversary::Full, (TwoBlocks, Sweep), "one: shape");
        let run = run!(layout.clone(), |store, _work, seed| Deduplicates(
            $new($parameters, Bucket(0), store, rng(seed)).expect("valid parameters")
        ));
        caught(run, $adversary, (OneBlock, Sweep), "one: shape");
        let run = run!(layout.clone(), |store, _work, seed| {
            let store = SkipsUnchanged::new(store, $rebuilt);
            $new($parameters, Bucket(0), store, rng(seed)).expect("valid parameters")
        });
        caught(run, Adversary::Snapshot, (OneBlock, Sweep), "shape");
    };
}

/// Checks the same of a scheme whose memory is permuted. It is also caught if its permutation is not uniform, or is the
/// same in every epoch.
macro_rules! assert_permuted_caught {
    ($new:expr, $parameters:expr, $subject:expr, $adversary:expr) => {
        let permuted = $parameters.permuted();
        assert_rebuilds_caught!($new, $parameters, $subject, $adversary, permuted);
        let layout = $parameters.layout();
        let run = run!(layout.clone(), |store, _work, seed| {
            $new($parameters, Bucket(0), store, LowBits(rng(seed))).expect("valid parameters")
        });
        let subject = $subject($parameters, run);
        assert_caught(&subject, Adversary::Full, (OneBlock, Sweep), "one: slots of");
        let run = run!(layout.clone(), |store, _work, seed| {
            let random = Repeats::new(rng(seed), permuted as usize - 1);
            $new($parameters, Bucket(0), store, random).expect("valid parameters")
        });
        let subject = $subject($parameters, run);
        assert_caught(
            &subject,
            Adversary::Full,
            (OneBlock, Dummies),
            "one: steps between slots of one bucket",
        );
    };
}

#[test]
fn what_breaks_square_root_oram_is_caught() {
    let (parameters, subject) = (square_root_parameters, square_root_subject);
    assert_permuted_caught!(SquareRootOram::new, parameters(), subject, Adversary::Snapshot);
}

#[test]
fn what_breaks_practical_os_is_caught() {
    let (parameters, subject) = (practical_os_parameters, practical_os_subject);
    assert_permuted_caught!(PracticalOs::new, parameters(), subject, Adversary::Full);
}

/// A Freecursive ORAM of these parts.
macro_rules! freecursive {
    ($hits:expr, $store:expr, $random:expr) => {
        FreecursiveOram::new(freecursive_parameters($hits), Bucket(0), $store, $random).expect("valid")
    };
}

fn assert_freecursive_caught(hits: TrustedHits, run: Run<'_>, pair: (Sequence, Sequence), finding: &str) {
    let subject = freecursive_subject(freecursive_parameters(hits), 0, run);
    assert_caught(&subject, Adversary::Full, pair, finding);
}

#[test]
fn a_front_end_that_shows_how_many_paths_it_saves_is_caught() {
    for hits in [TrustedHits::ReadThePath, TrustedHits::SaveThePath, TrustedHits::AnswerAtOnce] {
        let layout = || freecursive_parameters(hits).tree.layout();
        let run = run!(layout(), |store, _work, seed| ShowsHits(freecursive!(hits, store, rng(seed))));
        assert_freecursive_caught(hits, run, (OneBlock, Sweep), "shape");
        let run = run!(layout(), |store, _work, seed| freecursive!(hits, store, Uneven(rng(seed))));
        assert_freecursive_caught(hits, run, (Random, Zipf), "leaves");
    }
    for hits in [TrustedHits::SaveThePath, TrustedHits::AnswerAtOnce] {
        let layout = || freecursive_parameters(hits).tree.layout();
        let run = run!(layout(), |store, _work, seed| ShowsAnswers(freecursive!(hits, store, rng(seed))));
        assert_freecursive_caught(hits, run, (OneBlock, Sweep), "shape");
    }
}

/// The options of IR-ORAM and of its Baseline. Dummies cannot hide that a path belongs to a block that did not stay in
/// the tree top.
#[test]
fn a_tree_top_that_answers_without_a_path_is_caught_although_dummies_stand_in_for_the_paths() {
    for hits in [TrustedHits::SaveThePath, TrustedHits::AnswerAtOnce] {
        let layout = || freecursive_parameters(hits).tree.layout();
        let run = run!(layout(), |store, _work, seed| freecursive!(hits, store, rng(seed)));
        assert_freecursive_caught(hits, run, (OneBlock, Sweep), "steps between leaves");
    }
}

#[test]
fn what_breaks_hierarchical_oram_is_caught() {
    for spread in [false, true] {
        let parameters = || hierarchical_parameters(spread);
        let rebuilt = u64::from(parameters().buffer);
        assert_rebuilds_caught!(
            HierarchicalOram::new,
            parameters(),
            hierarchical_subject,
            Adversary::Snapshot,
            rebuilt
        );
        // One hash function for every building, and random buckets that are all the same.
        let run = run!(parameters().layout(), |store, _work, seed| {
            let random = Repeats::new(rng(seed), 1);
            HierarchicalOram::new(parameters(), Bucket(0), store, random).expect("valid parameters")
        });
        for pair in [(OneBlock, Dummies), (TwoBlocks, Sweep)] {
            let subject = hierarchical_subject(parameters(), run);
            assert_caught(&subject, Adversary::Full, pair, "one: steps between slots of one block");
        }
    }
}

macro_rules! run_curious {
    (|$store:ident, $work:ident, $seed:ident| $oram:expr) => {
        run!(curious_parameters().layout(), |$store, $work, $seed| $oram)
    };
}

#[test]
fn a_cached_block_that_is_looked_for_in_a_fresh_partition_is_caught() {
    let run = run_curious!(|store, _work, seed| ReadsRandomPartition::new(judged_curious(&store, seed)));
    let subject = curious_subject(run);
    let finding = "one: repeats of the block's last leaf";
    assert_caught(&subject, Adversary::Full, (OneBlock, Sweep), finding);
}

#[test]
fn what_breaks_the_other_schemes_is_caught_in_curious() {
    let caught = |run: Run<'_>, adversary, pair, finding| {
        assert_caught(&curious_subject(run), adversary, pair, finding);
    };
    let run = run_curious!(|store, _work, seed| SkipsHits::new(judged_curious(&store, seed)));
    caught(run, Adversary::Full, (TwoBlocks, Sweep), "one: shape");
    let run = run_curious!(|store, _work, seed| Deduplicates(judged_curious(&store, seed)));
    caught(run, Adversary::Full, (OneBlock, Sweep), "one: shape");
    let run = run_curious!(|store, work, seed| {
        judged_curious(&Rc::new(EditingStore::new(store, Edit::SkipsEmptyBuckets, 1, work.clone())), seed)
    });
    caught(run, Adversary::Snapshot, (Sweep, Dummies), "shape");
    let run = run_curious!(|store, _work, _seed| judged_curious(&store, 1));
    caught(run, Adversary::Full, (Random, Zipf), "leaves");
}

macro_rules! run_oblivistore {
    (|$store:ident, $work:ident, $seed:ident| $oram:expr) => {
        run!(oblivistore_parameters().layout(), |$store, $work, $seed| $oram)
    };
}

/// An ObliviStore over a store that makes a mistake.
macro_rules! edited_oblivistore {
    ($edit:expr) => {
        run_oblivistore!(|store, work, seed| {
            judged_oblivistore(&Rc::new(EditingStore::new(store, $edit, 1, work.clone())), seed)
        })
    };
}

#[test]
fn a_rebuild_that_reads_as_many_slots_as_there_are_blocks_is_caught() {
    // Bindschaedler et al. found it in the original.
    let subject = oblivistore_subject(edited_oblivistore!(Edit::EvictsOnlyReal));
    assert_caught(&subject, Adversary::Full, (Sweep, Dummies), "shape");
}

#[test]
fn a_take_that_stops_at_the_level_of_its_block_is_caught() {
    let subject = oblivistore_subject(edited_oblivistore!(Edit::StopsAtReal));
    assert_caught(&subject, Adversary::Full, (Sweep, Dummies), "one: shape");
}

#[test]
fn what_breaks_the_other_schemes_is_caught_in_oblivistore() {
    let caught = |run: Run<'_>, adversary, pair, finding| {
        assert_caught(&oblivistore_subject(run), adversary, pair, finding);
    };
    let run = edited_oblivistore!(Edit::SkipsEmptyBuckets);
    caught(run, Adversary::Snapshot, (Sweep, Dummies), "shape");
    let run =
        run_oblivistore!(|store, _work, seed| ReadsRandomPartition::new(judged_oblivistore(&store, seed)));
    caught(run, Adversary::Full, (OneBlock, Sweep), "one: repeats of the block's last leaf");
    let run = run_oblivistore!(|store, _work, seed| SkipsHits::new(judged_oblivistore(&store, seed)));
    caught(run, Adversary::Full, (TwoBlocks, Sweep), "one: shape");
    let run = run_oblivistore!(|store, _work, seed| {
        let mut seeds = (seed.wrapping_mul(64)..).map(|seed| LowBits(rng(seed)));
        let random = || seeds.next().expect("they do not end");
        oblivistore(&oblivistore_parameters(), Bucket(0), &store, random).expect("valid")
    });
    caught(run, Adversary::Full, (Sweep, Dummies), "slots");
}
