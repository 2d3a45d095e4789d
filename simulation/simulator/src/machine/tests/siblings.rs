//! Tests of PageORAM: every path is read and written with its siblings, and fewer blocks wait.

use super::*;
use crate::path_variant::PathVariant;

/// Buckets of two blocks, in a tree that is half full.
fn with_buckets_of_two(variant: PathVariant, pace: Pace) -> Configuration {
    let mut configuration = configuration(Scheme::Baseline, pace);
    configuration.oram.hits = TrustedHits::ReadThePath;
    configuration.oram.user_blocks = 1 << LEVELS;
    configuration.oram.sizes = vec![(configuration.oram.top_levels, LEVELS - 1, 2)];
    configuration.variant = variant;
    configuration
}

fn in_memory(program_of: Program, misses: u64, lines: u64) -> impl Iterator<Item = Miss> {
    program(program_of, misses, 1).map(move |miss| Miss { line: Line(miss.line.0 % lines), ..miss })
}

#[test]
fn a_path_moves_each_bucket_and_its_sibling_once_each_way() {
    let configuration = with_buckets_of_two(PathVariant::Siblings, Pace::Free);
    let lines = configuration.oram.user_blocks;
    let outcome = machine(&configuration).run(in_memory(Program::Random, 500, lines), 0, |_| ()).unwrap();
    let levels = u64::from(LEVELS - configuration.oram.top_levels);
    let moved = outcome.counts.paths() * levels * 4;
    assert_eq!([outcome.work.reads + outcome.work.forwarded, outcome.work.writes], [moved, moved]);
    assert_eq!(configuration.path_blocks().unwrap(), levels * 4);
    let served = outcome.processor.loads + outcome.processor.stores + outcome.processor.written_back;
    assert_eq!((outcome.counts.data, outcome.counts.fresh), (served, 0));
}

#[test]
fn cycles_follow_from_the_leaves_which_are_uniform() {
    let configuration = with_buckets_of_two(PathVariant::Siblings, Pace::FromEnd(700));
    let lines = configuration.oram.user_blocks;
    for program in [Program::Few, Program::Sweep, Program::Random, Program::Writes] {
        let mut observed = Vec::new();
        machine(&configuration)
            .run(in_memory(program, 500, lines), 0, |path| observed.push(path))
            .expect("the run");
        assert!(!is_detected(&configuration, &observed), "{program:?}");
        let alarms = alarms(&configuration, &observed);
        assert!(alarms.is_empty(), "{program:?}: {alarms:?}");
        // `is_detected` knows of the siblings: for a configuration without them it detects the same paths as wrong.
        let plain = with_buckets_of_two(PathVariant::Plain, Pace::FromEnd(700));
        assert!(is_detected(&plain, &observed), "{program:?}");
    }
}

/// Figure 8 of the paper: with two blocks per bucket, the stash grows without siblings, and does not grow with them.
#[test]
fn fewer_blocks_wait_with_siblings_than_without() {
    let max_waiting = |variant| {
        let mut configuration = with_buckets_of_two(variant, Pace::Free);
        let oram = &mut configuration.oram;
        (oram.stash, oram.top_levels, oram.trusted_positions) = (5000, 0, 1 << LEVELS);
        oram.sizes = vec![(0, LEVELS - 1, 2)];
        let mut machine = Machine::new(configuration, Contents::Steady(History::Packed), 1).unwrap();
        let window = |seed| {
            let misses = program(Program::Random, 3000, seed);
            let misses =
                misses.map(|miss| Miss { kind: Kind::Load, line: Line(miss.line.0 % (1 << LEVELS)), ..miss });
            machine.run(misses, 0, |_| ()).unwrap();
            machine.stash_blocks()
        };
        (0..5).map(window).max().expect("there are windows")
    };
    let [plain, siblings] = [PathVariant::Plain, PathVariant::Siblings].map(max_waiting);
    assert!(plain > 10 && siblings < plain / 3, "{plain} and {siblings}");
}

#[test]
fn siblings_go_with_path_oram_alone() {
    for scheme in [Scheme::Ring, Scheme::Raw, Scheme::Rho] {
        let mut bad = configuration(scheme, Pace::Free);
        bad.variant = PathVariant::Siblings;
        assert!(matches!(bad.check(), Err(ConfigurationError::PathAlone)), "{scheme:?}");
    }
}
