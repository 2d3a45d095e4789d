//! Tests of Fork Path: paths that share nothing twice, in an order that no program changes.

use super::super::injected_bug::InjectedBug;
use super::*;
use crate::fork_path::{Choice, ForkPathConfiguration, shared_levels};
use crate::path_variant::PathVariant;
use ameles_core::testing::oblivious::statistics::fair_signs;

fn with_fork(fork_path: ForkPathConfiguration, pace: Pace) -> Configuration {
    let mut configuration = configuration(Scheme::Baseline, pace);
    configuration.oram.hits = TrustedHits::ReadThePath;
    configuration.variant = PathVariant::ForkPath(fork_path);
    configuration
}

fn queue(queue: u32, choice: Choice) -> ForkPathConfiguration {
    ForkPathConfiguration { queue, choice, max_age: 64, cached_levels: None }
}

fn shared(one: &VisiblePath, other: &VisiblePath) -> u32 {
    shared_levels(one.leaf, other.leaf, LEVELS - 1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered_and_each_bucket_that_is_not_shared_moves_once_each_way(
        leaves in prop::sample::select(&[1, 2, 16][..]),
        choice in prop::sample::select(&[Choice::RequestsFirst, Choice::OneByOne][..]),
        hits in prop::sample::select(&[TrustedHits::ReadThePath, TrustedHits::SaveThePath, TrustedHits::AnswerAtOnce][..]),
        pace in prop::sample::select(&[Pace::Free, Pace::FromStart(2000), Pace::FromEnd(500), Pace::Instructions(400)][..]),
        stash in prop::sample::select(&[58, 200][..]),
        misses in prop::collection::vec((0u32..400, any::<bool>(), 0u64..2 << LEVELS), 1..150),
    ) {
        let mut configuration = with_fork(queue(leaves, choice), pace);
        (configuration.oram.hits, configuration.oram.stash) = (hits, stash);
        let kind = |stores| if stores { Kind::Store } else { Kind::Load };
        let trace = misses.into_iter().map(|(instructions, stores, line)| Miss { instructions, kind: kind(stores), line: Line(line) });
        let mut observed = Vec::new();
        let outcome = machine(&configuration).run(trace, 0, |path| observed.push(path)).expect("the run comes to its end");
        let Counts { data, stash_hits, ref top_hits, .. } = outcome.counts;
        let ameles_processor::processor::Counts { loads, stores, written_back, .. } = outcome.processor;
        prop_assert_eq!(data + stash_hits + top_hits.iter().sum::<u64>(), loads + stores + written_back);
        prop_assert_eq!(outcome.counts.paths(), observed.len() as u64);
        prop_assert_eq!(outcome.counts.fresh, 0, "every block is in the tree");
        let top = configuration.oram.top_levels;
        let moved: u64 = observed.windows(2).map(|pair| u64::from(4 * (LEVELS - shared(&pair[0], &pair[1]).max(top)))).sum();
        prop_assert_eq!(outcome.work.writes, moved);
        prop_assert_eq!(outcome.work.reads + outcome.work.forwarded, moved + u64::from(4 * (LEVELS - top)), "the first path is read whole");
    }
}

/// Merging alone leaves the leaves as they were.
#[test]
fn merged_paths_begin_at_the_rate_and_their_leaves_are_independent() {
    for pace in [Pace::FromStart(1500), Pace::FromEnd(700)] {
        let configuration = with_fork(ForkPathConfiguration::MERGING, pace);
        for program in [Program::Few, Program::Sweep, Program::Random, Program::Writes] {
            let observed = paths_at_their_rate(&configuration, program, 500);
            let alarms = alarms(&configuration, &observed);
            assert!(alarms.is_empty(), "{pace:?}, {program:?}: {alarms:?}");
        }
    }
}

#[test]
fn the_cycles_of_chosen_paths_follow_from_their_leaves() {
    for choice in [Choice::RequestsFirst, Choice::OneByOne] {
        let mut fork_path = queue(8, choice);
        fork_path.cached_levels = Some((6, 8));
        let configuration = with_fork(fork_path, Pace::FromEnd(700));
        for program in [Program::Few, Program::Sweep, Program::Random] {
            paths_at_their_rate(&configuration, program, 300);
        }
    }
}

/// The average number of levels that consecutive paths share in a run, and that paths with one between them share.
fn mean_shared(
    configuration: &Configuration,
    bug: Option<InjectedBug>,
    program_of: Program,
    seed: u64,
) -> f64 {
    let mut machine = Machine::new(configuration.clone(), Contents::Steady(History::Filled), seed).unwrap();
    machine.state.bugs.only = bug;
    let mut observed = Vec::new();
    machine.run(program(program_of, 80, seed), 0, |path| observed.push(path)).unwrap();
    let paths = &observed[..250.min(observed.len())];
    paths.windows(2).map(|pair| f64::from(shared(&pair[0], &pair[1]))).sum::<f64>() / paths.len() as f64
}

/// Judges pairs of independent runs of two programs that could hardly differ more: one keeps the queue full of
/// requests, the other has hardly any. If the program does not show, the paths of either share more levels in half of
/// the pairs.
fn judge(choice: Choice, bug: Option<InjectedBug>) -> Finding {
    let configuration = with_fork(queue(8, choice), Pace::FromEnd(500));
    let pairs = (0..44).map(|nth| {
        let mean = |program, seed| mean_shared(&configuration, bug, program, seed);
        (mean(Program::Random, 2 * nth), mean(Program::Writes, 2 * nth + 1))
    });
    fair_signs("shared levels".into(), pairs)
}

#[test]
fn a_queue_that_leaves_enter_one_by_one_shows_nothing_of_the_program() {
    let finding = judge(Choice::OneByOne, None);
    assert!(finding.log2_p >= ALARM_LOG2, "{finding}");
}

#[test]
fn a_request_that_jumps_the_queue_is_found() {
    let finding = judge(Choice::OneByOne, Some(InjectedBug::RequestsJumpTheQueue));
    assert!(finding.log2_p < ALARM_LOG2, "{finding}");
}

/// The paths of the fast order tell how many requests wait.
#[test]
fn requests_that_wait_for_no_dummy_show_how_many_they_are() {
    let finding = judge(Choice::RequestsFirst, None);
    assert!(finding.log2_p < ALARM_LOG2, "{finding}");
}

#[test]
fn fork_path_with_numbers_out_of_range_or_with_another_scheme_is_one_clear_error() {
    let message = |change: fn(&mut Configuration)| {
        let mut configuration = with_fork(ForkPathConfiguration::STANDARD, Pace::FromEnd(700));
        change(&mut configuration);
        configuration.check().unwrap_err().to_string()
    };
    let fork = |configuration: &mut Configuration, change: fn(&mut ForkPathConfiguration)| {
        configuration.variant.fork_path_mut().into_iter().for_each(change);
    };
    assert!(
        message(|bad| bad.variant = PathVariant::ForkPath(queue(0, Choice::OneByOne)))
            .contains("0 for leaves in the queue")
    );
    assert!(
        message(|bad| bad.variant = PathVariant::ForkPath(queue(2000, Choice::OneByOne)))
            .contains("choose 1 to 1024")
    );
    let mut bad = with_fork(ForkPathConfiguration::STANDARD, Pace::Free);
    fork(&mut bad, |fork_path| fork_path.cached_levels = Some((4, 9)));
    assert!(bad.check().unwrap_err().to_string().contains("4 for the first cached level: choose 5 to 12"));
    fork(&mut bad, |fork_path| fork_path.cached_levels = Some((9, 8)));
    assert!(bad.check().unwrap_err().to_string().contains("8 for the last cached level: choose 9 to 12"));
    assert!(message(|bad| bad.delayed_remapping = true).contains("Fork Path cannot be combined"));
    assert!(message(|bad| *bad = bad.clone().with_scheme(Scheme::Ring)).contains("need Path ORAM"));
}
