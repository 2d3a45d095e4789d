//! The front end beside that of the core: PLB, PosMaps, counters and their remaps.

use super::setup::*;
use lethe_core::words::BlockId;
use lethe_hardware::{
    BenchError, Configuration, Faults, FrontEnd, GoldenFrontEnd, Mutant, Pace, Run, Scheme,
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Counters of few bits are used up soon, so that stragglers move; with a small table and a small PLB, blocks come and go.
fn small_front_end(scheme: Scheme) -> Configuration {
    let front_end = FrontEnd { labels: 4, label_bits: 4, trusted: 8, look_aside: 4 };
    Configuration { leaf_level: 6, blocks: 150, front_end: Some(front_end), ..Configuration::paper(scheme) }
}

/// Reads and writes, half of them of a few blocks again and again.
fn run(configuration: Configuration, mutant: Option<&Mutant>, operations: usize) -> Result<Run, BenchError> {
    let mut golden = GoldenFrontEnd::new(configuration, 1);
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut paths = 0;
    for _ in 0..operations {
        let among = if random.next_u32().is_multiple_of(2) { configuration.blocks } else { 3 };
        let block = BlockId(u64::from(random.next_u32() % among));
        let data = random.next_u32().is_multiple_of(2).then(|| {
            let mut data = vec![0; configuration.block_bytes as usize];
            random.fill_bytes(&mut data);
            data
        });
        paths += golden.run(block, data);
    }
    assert!(paths as usize > operations, "PosMap blocks were fetched");
    bench_with_key(&configuration, mutant, Pace::IDEAL, Faults::default(), &golden.key())
        .run(&golden.session())
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn the_front_end_shows_what_that_of_the_core_shows() {
    let of_paper = Configuration::paper(Scheme::Raw).with_front_end();
    let mut small = [Scheme::Raw, Scheme::Path].map(small_front_end);
    small[1].top_levels = 2;
    for (configuration, operations) in [(small[0], 2000), (small[1], 2000), (of_paper, 300)] {
        run(configuration, None, operations).unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn each_wrong_front_end_is_found_by_comparison() {
    for mutant in &Mutant::FRONT_END {
        let run = run(small_front_end(Scheme::Raw), Some(mutant), 400);
        assert!(run.is_err(), "{} was not found", mutant.fault);
    }
}
