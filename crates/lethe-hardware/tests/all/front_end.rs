//! The front end beside that of the core: PLB, PosMaps, counters and their remaps, tags.

use super::setup::*;
use lethe_hardware::{BenchError, Configuration, Faults, GoldenFrontEnd, Mutant, Pace, Run, Scheme};

/// Does requests, half of them of a few blocks again and again.
fn run(configuration: Configuration, mutant: Option<&Mutant>, operations: usize) -> Result<Run, BenchError> {
    let mut golden = GoldenFrontEnd::new(configuration, 1);
    let mut paths = 0;
    for (block, data) in requests(&configuration, operations, 2) {
        paths += golden.run(block, data);
    }
    assert!(paths as usize > operations, "PosMap blocks were fetched");
    bench_with_keys(&configuration, mutant, Pace::IDEAL, Faults::default(), &keys(&configuration, &golden))
        .run(&golden.session())
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn the_front_end_shows_what_that_of_the_core_shows() {
    let of_paper = Configuration::paper(Scheme::Raw).with_front_end();
    let small = [Scheme::Raw, Scheme::Path].map(small_front_end);
    for (configuration, operations) in [(small[0], 2000), (small[1], 2000), (of_paper, 300)] {
        run(configuration, None, operations).unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn the_front_end_with_tags_shows_what_that_of_the_core_shows() {
    let of_paper = Configuration::paper(Scheme::Raw).with_front_end();
    let small = [Scheme::Raw, Scheme::Path].map(small_front_end);
    for (configuration, tag_bits, operations) in
        [(small[0], 96, 2000), (small[1], 128, 2000), (of_paper, 96, 300)]
    {
        let configuration = configuration.with_tags(tag_bits);
        run(configuration, None, operations).unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn each_wrong_front_end_is_found_by_comparison() {
    for mutant in &Mutant::FRONT_END {
        let run = run(small_front_end(Scheme::Raw).with_tags(96), Some(mutant), 400);
        assert!(run.is_err(), "{} was not found", mutant.fault);
    }
}
