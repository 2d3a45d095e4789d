//! Machines with injected bugs. One test detects each of them by its paths and their cycles, and passes the correct
//! machine.

use super::super::injected_bug::InjectedBug;
use super::*;

/// The paths that a program shows on a machine with a bug, or without.
fn shown_by(
    configuration: &Configuration,
    bug: Option<InjectedBug>,
    program_of: Program,
) -> Vec<VisiblePath> {
    let mut observed = Vec::new();
    let mut machine = machine(configuration);
    machine.state.bugs.only = bug;
    machine.run(program(program_of, 250, 1), 0, |path| observed.push(path)).unwrap();
    observed
}

/// The programs for which the bug is detected, from the configuration and the leaves alone.
fn detecting_programs(configuration: &Configuration, bug: Option<InjectedBug>) -> Vec<Program> {
    let programs = [Program::Few, Program::Sweep, Program::Random, Program::Writes];
    programs
        .into_iter()
        .filter(|program| is_detected(configuration, &shown_by(configuration, bug, *program)))
        .collect()
}

fn assert_bug_found(configuration: &Configuration, bug: InjectedBug) {
    assert!(detecting_programs(configuration, None).is_empty(), "the sound machine passes");
    let found = detecting_programs(configuration, Some(bug));
    assert!(!found.is_empty(), "{bug:?}");
}

#[test]
fn a_hit_of_the_tree_top_that_skips_its_turn_is_found() {
    assert_bug_found(&configuration(Scheme::IrStash, Pace::FromEnd(700)), InjectedBug::HitSkipsItsTurn);
    assert_bug_found(&configuration(Scheme::Baseline, Pace::FromStart(1500)), InjectedBug::HitSkipsItsTurn);
}

#[test]
fn a_path_for_a_posmap_block_that_differs_from_others_is_found() {
    for scheme in [Scheme::Baseline, Scheme::LlcD, Scheme::Rho] {
        assert_bug_found(&configuration(scheme, Pace::FromEnd(700)), InjectedBug::PosMapComesLater);
    }
}

#[test]
fn a_full_set_of_the_tree_top_s_index_that_shows_is_found() {
    let mut configuration = configuration(Scheme::IrStash, Pace::FromEnd(700));
    configuration.oram.top_ways = 1;
    assert_bug_found(&configuration, InjectedBug::FullSetShows);
}

#[test]
fn early_work_that_does_not_wait_for_the_turn_of_a_dummy_is_found() {
    for scheme in [Scheme::IrDwb, Scheme::LlcDDwb] {
        assert_bug_found(&configuration(scheme, Pace::FromEnd(700)), InjectedBug::EarlyWorkComesEarly);
    }
}

#[test]
fn a_small_tree_without_the_pattern_is_found() {
    for pace in [Pace::FromEnd(700), Pace::Free] {
        let configuration = configuration(Scheme::Rho, pace);
        let follows =
            |bug, program| trees_follow_the_pattern(&configuration, &shown_by(&configuration, bug, program));
        for program in [Program::Few, Program::Sweep, Program::Random, Program::Writes] {
            assert!(follows(None, program), "the sound machine passes");
            assert!(!follows(Some(InjectedBug::NoPattern), program), "{pace:?}, {program:?}");
        }
    }
}

/// An observer who does not compute the paths sees the time between two paths. It is always the same, for any program.
/// On a faulty machine its mean depends on the program.
#[test]
fn two_programs_keep_one_distance_between_paths_and_a_broken_machine_does_not() {
    let configuration = configuration(Scheme::IrDwb, Pace::FromEnd(700));
    let distances = |bug, program| -> Vec<u64> {
        let observed = shown_by(&configuration, bug, program);
        observed.windows(2).map(|pair| pair[1].start.0 - pair[0].end.0).collect()
    };
    let mean = |distances: &[u64]| distances.iter().sum::<u64>() as f64 / distances.len() as f64;
    for program in [Program::Few, Program::Writes] {
        assert!(distances(None, program).iter().all(|distance| *distance == 700), "{program:?}");
    }
    for bug in [InjectedBug::PosMapComesLater, InjectedBug::EarlyWorkComesEarly] {
        let [few, writes] =
            [Program::Few, Program::Writes].map(|program| mean(&distances(Some(bug), program)));
        assert!((few - writes).abs() > 1.0, "{bug:?}: {few}, {writes}");
    }
}
