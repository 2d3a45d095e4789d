//! The front end beside that of the core: PLB, PosMaps, counters and their remaps.

use super::setup::*;
use lethe_core::words::BlockId;
use lethe_hardware::{Configuration, Faults, FrontEnd, GoldenFrontEnd, Scheme};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Reads and writes, some of them of a few blocks again and again.
fn assert_same(configuration: Configuration, operations: usize) {
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
    let mut bench = bench_with_key(&configuration, None, IDEAL, Faults::default(), &golden.key());
    bench.run(&golden.session()).unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn the_front_end_shows_what_that_of_the_core_shows() {
    // Counters of few bits are used up soon, so that stragglers move; small tables and buffers, so that blocks come and go.
    let front_end = FrontEnd { labels: 4, label_bits: 4, trusted: 8, look_aside: 4 };
    for scheme in [Scheme::Raw, Scheme::Path] {
        let small = Configuration { leaf_level: 6, blocks: 150, ..Configuration::paper(scheme) };
        assert_same(Configuration { front_end: Some(front_end), ..small }, 2000);
    }
    assert_same(Configuration::paper(Scheme::Raw).with_front_end(), 300);
}
