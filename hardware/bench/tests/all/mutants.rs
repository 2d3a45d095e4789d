//! Controllers that are broken on purpose: the comparison and the judge find each.

use super::oblivious::assert_bus_shows_only_paths;
use super::setup::*;
use ameles_hardware_bench::{Configuration, Faults, Mutant, Pace, Scheme};

fn assert_comparison_finds(mutant: &Mutant, configuration: Configuration) {
    let golden = mixed_operations(&configuration, 400, 1);
    let run = bench(&configuration, Some(mutant), Pace::IDEAL, Faults::default()).run(&golden.session());
    assert!(run.is_err(), "{} was not found", mutant.fault);
}

/// A small tree of small buckets, so that some are full.
fn full_buckets() -> Configuration {
    Configuration { blocks_per_bucket: 3, ..small(Scheme::Raw) }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn each_wrong_controller_is_found_by_comparison() {
    Mutant::FUNCTIONAL.iter().for_each(|mutant| assert_comparison_finds(mutant, full_buckets()));
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn each_wrong_option_is_found_by_comparison() {
    Mutant::OPTIONS.iter().for_each(|mutant| assert_comparison_finds(mutant, with_options(Scheme::Path)));
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn each_leaking_controller_is_found_by_the_bus_test_and_by_it_alone() {
    let of_trees = Mutant::LEAKING.iter().map(|mutant| (mutant, full_buckets()));
    let of_tops = Mutant::LEAKING_OPTIONS.iter().map(|mutant| (mutant, with_options(Scheme::Path)));
    for (mutant, configuration) in of_trees.chain(of_tops) {
        let golden = mixed_operations(&configuration, 400, 1);
        bench(&configuration, Some(mutant), Pace::IDEAL, Faults::default()).run(&golden.session()).unwrap();
        let judged = std::panic::catch_unwind(|| assert_bus_shows_only_paths(configuration, Some(mutant)));
        assert!(judged.is_err(), "{} was not found", mutant.fault);
    }
}
