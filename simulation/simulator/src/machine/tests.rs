//! Tests of the machine. It answers every request under every option, and its runs can be repeated. Its paths show the
//! rate and the leaves, and nothing else.

mod fork;
mod mutants;
mod pace;
mod ring;
mod schedule;
mod siblings;

use super::*;
use crate::configuration::Scheme;
use crate::early_write_back::EarlyLine;
use crate::hierarchy::Hierarchy;
use crate::main_oram::TreeParts;
use crate::pace::LastPath;
use crate::pace::Pace;
use crate::path_timer::{PathTimer, PathTimes};
use crate::pattern::Tree;
use crate::small_tree::{Admission, SmallTreeConfiguration};
use crate::tree::steady_state::History;
use crate::tree_scheme::{Headers, TreeScheme};
use ameles_core::schemes::freecursive::TrustedHits;
use ameles_core::testing::oblivious::statistics::{ALARM_LOG2, Finding, uniform};
use ameles_core::types::{BlockId, Leaf, Level};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::BTreeSet;

const LEVELS: u32 = 13;

/// A small tree, most of it in memory, behind a cache of 64 lines.
fn configuration(scheme: Scheme, pace: Pace) -> Configuration {
    let mut configuration = Configuration::baseline(LEVELS);
    configuration.oram.top_levels = 5;
    configuration.oram.look_aside = 16;
    configuration.oram.trusted_positions = 128;
    (configuration.cache_bytes, configuration.cache_ways) = (4096, 4);
    configuration.pace = pace;
    configuration.with_scheme(scheme)
}

fn machine(configuration: &Configuration) -> Machine {
    Machine::new(configuration.clone(), Contents::Steady(History::Random), 1).expect("a sound configuration")
}

const SCHEMES: [Scheme; 12] = [
    Scheme::Baseline,
    Scheme::IrAlloc,
    Scheme::IrStash,
    Scheme::IrDwb,
    Scheme::IrOram,
    Scheme::LlcD,
    Scheme::LlcDStashAlloc,
    Scheme::LlcDDwb,
    Scheme::LlcDStashAllocDwb,
    Scheme::Rho,
    Scheme::Raw,
    Scheme::Ring,
];

/// Programs that could hardly differ more.
#[derive(Clone, Copy, Debug)]
enum Program {
    /// The program loads a few lines of one set of the cache again and again.
    Few,
    /// The program writes through all of memory, now and then.
    Sweep,
    /// The program loads and stores at random, as fast as it can.
    Random,
    /// The program stores at random, and rests for long in between.
    Writes,
}

fn program(program: Program, misses: u64, seed: u64) -> impl Iterator<Item = Miss> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..misses).map(move |nth| {
        let (instructions, kind, line) = match program {
            Program::Few => (300, Kind::Load, nth % 5 * 16),
            Program::Sweep => (5000, Kind::Store, nth * 3 % (2 << LEVELS)),
            Program::Writes => (30_000, Kind::Store, random.next_u64() % (2 << LEVELS)),
            Program::Random => {
                let draw = random.next_u64();
                (
                    draw as u32 % 8,
                    if draw & 8 == 0 { Kind::Load } else { Kind::Store },
                    (draw >> 32) % (2 << LEVELS),
                )
            }
        };
        Miss { instructions, kind, line: Line(line) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_run_answers_all_that_the_processor_asks_under_every_option(
        scheme in prop::sample::select(&SCHEMES[..]),
        hits in prop::sample::select(&[None, Some(TrustedHits::ReadThePath), Some(TrustedHits::StashAnswers)][..]),
        pace in prop::sample::select(&[Pace::Free, Pace::FromStart(2000), Pace::FromEnd(500), Pace::Idle(250), Pace::Instructions(400), Pace::Fetches(1000)][..]),
        misses in prop::collection::vec((0u32..400, any::<bool>(), 0u64..2 << LEVELS), 1..150),
        warm_up in 0u64..40,
    ) {
        let mut configuration = configuration(scheme, pace);
        if configuration.early_write_backs && pace == Pace::Free {
            configuration.pace = Pace::FromEnd(500);
        }
        configuration.oram.hits = hits.unwrap_or(configuration.oram.hits);
        let kind = |stores| if stores { Kind::Store } else { Kind::Load };
        let trace: Vec<Miss> = misses
            .into_iter()
            .map(|(instructions, stores, line)| Miss { instructions, kind: kind(stores), line: Line(line) })
            .collect();
        let run = || {
            let mut observed = Vec::new();
            let run = machine(&configuration).run(trace.iter().copied(), warm_up, |path| observed.push(path));
            (run.expect("the run comes to its end"), observed)
        };
        let (outcome, observed) = run();
        let Counts { data, stash_hits, ref top_hits, put_in, early_lines, .. } = outcome.counts;
        let ameles_processor::processor::Counts { loads, stores, written_back, instructions, .. } = outcome.processor;
        let measured_instructions: u64 = trace.iter().skip(warm_up as usize).map(|miss| u64::from(miss.instructions) + 1).sum();
        prop_assert_eq!(instructions, measured_instructions);
        let served = data + stash_hits + top_hits.iter().sum::<u64>();
        if configuration.delayed_remapping {
            prop_assert_eq!(served, loads + stores);
            prop_assert!(put_in >= written_back, "clean lines come back, too");
        } else {
            prop_assert!(served >= loads + stores + written_back);
            prop_assert!(served <= loads + stores + written_back + early_lines);
        }
        prop_assert_eq!(outcome.counts.paths(), observed.len() as u64);
        prop_assert!(trees_follow_the_pattern(&configuration, &observed));
        let Counts { evictions, reshuffles, .. } = outcome.counts;
        prop_assert_eq!(evictions + reshuffles, observed.iter().filter(|path| path.evicts).count() as u64);
        prop_assert_eq!(outcome.counts.fresh, 0, "every block is in the tree");
        let (again, shown_again) = run();
        prop_assert_eq!((again.cycles, again.counts, shown_again), (outcome.cycles, outcome.counts, observed));
    }
}

/// Returns whether each path is of the tree that the pattern requires.
fn trees_follow_the_pattern(configuration: &Configuration, observed: &[VisiblePath]) -> bool {
    let small = configuration.small_tree.as_ref().map_or(0, |small| small.paths as usize);
    observed.iter().enumerate().all(|(nth, path)| (path.tree == Tree::Main) == (nth % (small + 1) == small))
}

/// Blocks that come with their access, in turns of the trees, and blocks that come when the cache evicts them, on
/// demand.
#[test]
fn a_block_is_in_the_main_tree_or_in_the_small_one_and_never_in_both() {
    let (mut hits_there, mut left) = (0, 0);
    let options = [
        (TrustedHits::ReadThePath, Admission::OnAccess, 2),
        (TrustedHits::SaveThePath, Admission::OnAccess, 2),
        (TrustedHits::ReadThePath, Admission::OnEviction, 0),
        (TrustedHits::StashAnswers, Admission::OnEviction, 2),
    ];
    for (hits, admission, paths) in options {
        for program_of in [Program::Few, Program::Random, Program::Sweep] {
            let mut configuration = configuration(Scheme::Rho, Pace::Free);
            configuration.oram.hits = hits;
            configuration
                .small_tree
                .iter_mut()
                .for_each(|small| (small.admission, small.paths) = (admission, paths));
            let mut machine = machine(&configuration);
            let Counts { small_hits, leaving, .. } =
                machine.run(program(program_of, 400, 1), 100, |_| ()).unwrap().counts;
            (hits_there, left) = (hits_there + small_hits, left + leaving);
            let Hierarchy { main, small, .. } = machine.state.memory;
            let (TreeParts { mut slots, positions, trusted, .. }, small) =
                (main.into_parts(), small.unwrap());
            let trusted: BTreeSet<BlockId> = trusted.into_iter().map(|(block, _)| block).collect();
            for block in (0..configuration.oram.user_blocks).map(BlockId) {
                let leaf = positions.get(block).expect("every block has a position");
                let is_in_main = slots.take(block, leaf) || trusted.contains(&block);
                assert_ne!(is_in_main, small.has(block), "{block} under {hits:?}, {admission:?}");
            }
        }
    }
    assert!(hits_there > 0 && left > 0, "blocks did come and go");
}

/// The code of IR-ORAM's authors. A line that is read does not change the small tree. A dirty line comes into it by a
/// path of that tree, without a path of the main tree.
#[test]
fn a_small_tree_that_takes_evicted_lines_is_read_for_those_alone() {
    let run = |kind: Kind| {
        let mut configuration = configuration(Scheme::Rho, Pace::Free);
        configuration.small_tree.iter_mut().for_each(|small| {
            (small.admission, small.paths) = (Admission::OnEviction, 0);
        });
        // Each line once, beyond the 64 of the cache.
        let trace = (0..200).map(|nth| Miss { instructions: 9, kind, line: Line(nth * 16) });
        let mut of_small = 0;
        let outcome = machine(&configuration)
            .run(trace, 0, |path| of_small += u64::from(path.tree == Tree::Small))
            .expect("it ends");
        (outcome, of_small)
    };
    let (loads, none) = run(Kind::Load);
    assert_eq!((none, loads.processor.written_back), (0, 0));
    let (stores, of_small) = run(Kind::Store);
    let written = stores.processor.written_back;
    assert!(
        written > 100 && (written..=2 * written).contains(&of_small),
        "{of_small} paths for {written} lines"
    );
    let of_main = |outcome: &Outcome| outcome.counts.paths() - outcome.counts.small;
    assert!(of_main(&stores).abs_diff(of_main(&loads)) < 10, "writing back takes no path of the main tree");
}

/// A block that comes into the small tree may fill its stash.
#[test]
fn a_small_tree_that_is_full_of_evicted_lines_evicts_before_its_next_path() {
    let mut configuration = configuration(Scheme::Rho, Pace::Free);
    configuration.small_tree.iter_mut().for_each(|small| {
        (small.admission, small.paths) = (Admission::OnEviction, 0);
        (small.top_levels, small.stash) = (0, 29);
    });
    let trace = (0..3000).map(|nth| Miss { instructions: 9, kind: Kind::Store, line: Line(nth * 7 % 1500) });
    let outcome = machine(&configuration).run(trace, 0, |_| ()).expect("it ends");
    assert!(outcome.counts.background > 0 && outcome.counts.leaving > 0, "{:?}", outcome.counts);
}

/// A request that the main tree answers between two paths may fill it as well.
#[test]
fn a_small_tree_that_is_full_of_accessed_blocks_evicts_before_its_next_path() {
    let mut background = 0;
    for (pace, stash) in [(Pace::Free, 29), (Pace::FromEnd(500), 29), (Pace::Free, 31)] {
        let mut configuration = configuration(Scheme::Rho, pace);
        configuration.small_tree.iter_mut().for_each(|small| (small.top_levels, small.stash) = (0, stash));
        let outcome = machine(&configuration).run(program(Program::Random, 3000, 1), 0, |_| ());
        let counts = outcome.expect("it ends").counts;
        assert!(counts.leaving > 0, "{counts:?}");
        background += counts.background;
    }
    assert!(background > 0, "no small tree was ever full");
}

#[test]
fn a_small_tree_that_makes_no_sense_is_one_clear_error() {
    let message = |change: fn(&mut SmallTreeConfiguration)| {
        let mut configuration = configuration(Scheme::Rho, Pace::FromStart(1500));
        change(configuration.small_tree.as_mut().expect("rho has one"));
        configuration.check().unwrap_err().to_string()
    };
    assert!(message(|small| small.levels = 1).contains("impossible: 1 levels"));
    assert!(message(|small| small.top_levels = 7).contains("with 7 of them"));
    assert!(
        message(|small| small.blocks_per_bucket = 0)
            .contains("the small tree is impossible: blocks of a level")
    );
    assert!(message(|small| small.leaving = 0).contains("too small for 30 tags"));
    assert!(message(|small| small.paths = 0).contains("the trees take turns"));
    assert!(message(|small| small.stash = 20).contains("stash"));
    assert!(message(|small| (small.sets, small.levels) = (2000, 20)).contains("too few for 20000 tags"));
    assert!(
        message(|small| (small.blocks_per_bucket, small.levels, small.stash) = (60, 20, 5000))
            .contains("too fast")
    );
    let mut both = configuration(Scheme::Rho, Pace::Free);
    both.delayed_remapping = true;
    assert!(matches!(both.check(), Err(ConfigurationError::SmallTreeAlone)));
}

/// A stash with hardly more room than for a path, and hits that bring PosMap blocks into it.
#[test]
fn background_evictions_make_room_and_come_at_the_rate() {
    for scheme in
        [Scheme::Baseline, Scheme::IrStash, Scheme::IrOram, Scheme::LlcD, Scheme::LlcDDwb, Scheme::Rho]
    {
        let mut configuration = configuration(scheme, Pace::FromEnd(700));
        configuration.oram.stash = 58;
        let observed = paths_at_their_rate(&configuration, Program::Random, 3000);
        let mut machine = machine(&configuration);
        let outcome = machine.run(program(Program::Random, 3000, 1), 0, |_| ()).unwrap();
        assert!(outcome.counts.background > 0, "{scheme:?}");
        assert_eq!(outcome.counts.paths(), observed.len() as u64);
    }
}

/// Runs a program and computes its paths a second time. Every cycle must follow from their leaves and the rate, and
/// every tree from the pattern.
fn paths_at_their_rate(configuration: &Configuration, program_of: Program, misses: u64) -> Vec<VisiblePath> {
    let mut observed = Vec::new();
    machine(configuration).run(program(program_of, misses, 1), 0, |path| observed.push(path)).unwrap();
    assert!(!is_detected(configuration, &observed), "{program_of:?}");
    observed
}

/// Returns whether anything observed does not follow from the leaves, the rate, the pattern and the schedule.
fn is_detected(configuration: &Configuration, observed: &[VisiblePath]) -> bool {
    let (mut timer, mut last) = (PathTimer::new(configuration).unwrap(), LastPath::default());
    let cycles_follow = observed.iter().all(|path| {
        let start = configuration.pace.next(last, configuration.processor.width);
        let moved = run::moved(path.leaf, path.evicts, path.slots.as_deref());
        let PathTimes { read, end } = timer.step(start, path.tree, moved).unwrap();
        last = LastPath { start, read, end };
        (path.start, path.end) == (start, end)
    });
    let evictions_follow = schedule::is_followed(configuration, observed);
    !(cycles_follow && evictions_follow && trees_follow_the_pattern(configuration, observed))
}

/// The leaves of a tree's paths, as bits of which `width` count, from the root on.
fn leaves_of(configuration: &Configuration, observed: &[VisiblePath], tree: Tree, width: u32) -> Vec<u64> {
    let levels = match (tree, &configuration.small_tree) {
        (Tree::Small, Some(small)) => small.levels,
        _ => LEVELS,
    };
    let of_tree = observed.iter().filter(|path| path.tree == tree && !path.evicts);
    of_tree.map(|path| path.leaf.0 >> (levels - 1 - width)).collect()
}

/// The bits that two consecutive paths have in common, from the root on, carry no information: half of all pairs have
/// none, and so on.
fn common_beginnings(leaves: &[u64], apart: usize) -> Finding {
    let mut counts = vec![0u64; 16];
    for (one, other) in leaves.iter().zip(&leaves[apart..]) {
        counts[(one ^ other) as usize] += 1;
    }
    uniform(format!("leaves {apart} apart"), &counts)
}

fn uniform_leaves(leaves: &[u64]) -> Finding {
    let mut counts = vec![0u64; 32];
    leaves.iter().for_each(|leaf| counts[*leaf as usize] += 1);
    uniform("leaves".into(), &counts)
}

fn alarms(configuration: &Configuration, observed: &[VisiblePath]) -> Vec<Finding> {
    let of_tree = |tree| {
        let [short, long] = [4, 5].map(|width| leaves_of(configuration, observed, tree, width));
        let apart = 1..=8.min(short.len().saturating_sub(1));
        let pairs = apart.map(move |apart| common_beginnings(&short, apart));
        pairs.chain([uniform_leaves(&long)]).collect::<Vec<_>>()
    };
    let all = [Tree::Main, Tree::Small].into_iter().flat_map(of_tree);
    all.filter(|finding| finding.log2_p < ALARM_LOG2).collect()
}

#[test]
fn under_a_fixed_rate_every_cycle_and_tree_follow_from_the_leaves_whatever_the_program_does() {
    for scheme in SCHEMES {
        for (pace, overlapped) in [
            (Pace::FromStart(1500), false),
            (Pace::FromEnd(700), false),
            (Pace::FromEnd(400), true),
            (Pace::Fetches(3000), false),
        ] {
            let mut configuration = configuration(scheme, pace);
            configuration.oram.hits = TrustedHits::ReadThePath;
            configuration.overlapped_writes = overlapped;
            for program in [Program::Few, Program::Sweep, Program::Random] {
                let observed = paths_at_their_rate(&configuration, program, 500);
                let alarms = alarms(&configuration, &observed);
                assert!(alarms.is_empty(), "{scheme:?}, {pace:?}, {program:?}: {alarms:?}");
            }
        }
    }
}

/// IR-ORAM's tree top, and that of its Baseline: the cycles follow the rate, and the leaves carry the same
/// information.
#[test]
fn a_tree_top_that_saves_paths_shows_by_their_leaves_that_a_block_came_again_soon() {
    for scheme in [Scheme::Baseline, Scheme::IrStash] {
        let configuration = configuration(scheme, Pace::FromEnd(700));
        let observed = paths_at_their_rate(&configuration, Program::Few, 12_000);
        let alarms = alarms(&configuration, &observed);
        assert!(!alarms.is_empty(), "{scheme:?}");
    }
}

/// The authors' own choice of the line for a dummy.
#[test]
fn the_line_that_was_written_last_is_written_back_in_the_place_of_a_dummy() {
    let mut configuration = configuration(Scheme::IrDwb, Pace::FromEnd(500));
    configuration.early_line = EarlyLine::LastWritten;
    let counts = machine(&configuration).run(program(Program::Writes, 50, 1), 0, |_| ()).unwrap().counts;
    // Each store has its line written long before the next comes, by one path.
    assert!((45..=50).contains(&counts.early_lines), "{counts:?}");
    assert!(counts.early <= counts.early_lines, "a path that wrote no line: {counts:?}");
    // A load after each store leaves no position on chip but its own.
    configuration.oram.look_aside = 1;
    let miss = |nth: u64| {
        let (instructions, kind, first) =
            if nth.is_multiple_of(2) { (30_000, Kind::Store, 0) } else { (0, Kind::Load, 4096) };
        Miss { instructions, kind, line: Line((first + nth * 512) % (2 << LEVELS)) }
    };
    let counts = machine(&configuration).run((0..20).map(miss), 0, |_| ()).unwrap().counts;
    assert!(counts.early == 0 && counts.dummy > 20, "{counts:?}");
}

#[test]
fn the_account_finds_a_turn_that_was_skipped_or_came_early() {
    let configuration = configuration(Scheme::Baseline, Pace::FromEnd(700));
    let observed = paths_at_their_rate(&configuration, Program::Random, 500);
    assert!(!is_detected(&configuration, &observed));
    let mut skipped = observed.clone();
    skipped.remove(100);
    assert!(is_detected(&configuration, &skipped));
    let mut early = observed;
    early[100].start.0 -= 4;
    assert!(is_detected(&configuration, &early));
}

/// RAW ORAM's headers on the trusted side: an access writes nothing, and moves a sixth less.
#[test]
fn an_access_of_raw_oram_writes_the_headers_that_are_in_memory_and_nothing_else() {
    let mut configuration = configuration(Scheme::Raw, Pace::Free);
    let levels = u64::from(LEVELS - configuration.oram.top_levels);
    for (headers, of_access) in [(Headers::InMemory, [6, 1]), (Headers::OnChip, [5, 0])] {
        configuration.oram.scheme = TreeScheme::Raw { eviction_rate: 5, headers };
        let outcome = machine(&configuration).run(program(Program::Random, 500, 1), 0, |_| ()).unwrap();
        let evictions = outcome.counts.evictions;
        let accesses = outcome.counts.paths() - evictions;
        assert_eq!((evictions, outcome.counts.background), (accesses / 5, 0));
        let moved = of_access.map(|blocks| levels * (accesses * blocks + evictions * of_access[0]));
        assert_eq!([outcome.work.reads, outcome.work.writes], moved);
    }
}

/// Neighbours share a block: the second of two lines is in the cache when it is used.
#[test]
fn blocks_of_several_lines_bring_the_neighbours_and_move_as_many_lines_a_bucket() {
    for scheme in [Scheme::Baseline, Scheme::IrOram, Scheme::Raw, Scheme::LlcD] {
        let one = configuration(scheme, Pace::FromEnd(500));
        let of_four = one.clone().with_block_lines(4);
        let run = |configuration: &Configuration| {
            let every_line =
                (0..400).map(|line| Miss { instructions: 9, kind: Kind::Load, line: Line(line) });
            machine(configuration).run(every_line, 0, |_| ()).expect("it ends")
        };
        let [narrow, wide] = [&one, &of_four].map(run);
        assert_eq!((narrow.processor.loads, wide.processor.loads), (400, 100), "{scheme:?}");
        let memory = one.oram.levels - one.oram.top_levels;
        assert_eq!(memory, of_four.oram.levels - of_four.oram.top_levels, "as much of the tree is in memory");
        assert_eq!(of_four.path_blocks().unwrap(), 4 * one.path_blocks().unwrap());
    }
}

#[test]
fn a_tree_of_another_scheme_refuses_what_is_path_oram_s() {
    let refused = |change: fn(&mut Configuration)| {
        for scheme in [Scheme::Raw, Scheme::Ring] {
            let mut bad = configuration(scheme, Pace::Free);
            change(&mut bad);
            assert!(matches!(Machine::check(&bad), Err(ConfigurationError::PathAlone)), "{bad:?}");
        }
    };
    refused(|bad| bad.oram.sizes = vec![(6, 7, 2)]);
    refused(|bad| bad.oram.hits = TrustedHits::AnswerAtOnce);
    refused(|bad| bad.small_tree = Some(SmallTreeConfiguration::for_main_tree(LEVELS)));
}
