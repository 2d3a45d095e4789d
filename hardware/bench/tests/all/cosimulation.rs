//! The RTL compared with the core: the same addresses in the same order, the same ciphertext, the same answers.

use super::setup::*;
use ameles_hardware_bench::{Configuration, Faults, Golden, Pace, Scheme};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// Few places in the stash: paths are evicted for lack of room.
fn assert_same_with_emergencies(configuration: Configuration, operations: usize) {
    assert!(assert_same(configuration, operations) > 2, "{configuration:?}: no emergency came");
}

/// Returns the evictions for lack of room.
fn assert_same(configuration: Configuration, operations: usize) -> u64 {
    let mut golden = Golden::new(configuration, &KEY, 1);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut bench = bench(&configuration, None, Pace::IDEAL, Faults::default());
    let mut emergencies = 0;
    for portion in portions(operations) {
        add_mixed_operations(&configuration, portion, &mut golden, &mut random);
        let run = bench.run(&golden.take_session());
        emergencies = run.unwrap_or_else(|error| panic!("{configuration:?}: {error}")).emergencies;
    }
    assert_eq!(u64::from(emergencies), golden.emergencies(), "{configuration:?}");
    golden.emergencies()
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn path_oram_shows_what_that_of_the_core_shows() {
    let path = Configuration::paper(Scheme::Path);
    assert_same(path, 80);
    assert_same(small(Scheme::Path), 350);
    assert_same(Configuration { aes_double: true, ..small(Scheme::Path) }, 250);
    assert_same(
        Configuration { leaf_level: 7, block_bytes: 256, blocks_per_bucket: 3, blocks: 130, ..path },
        100,
    );
    assert_same_with_emergencies(
        Configuration { leaf_level: 3, blocks: 26, stash_blocks: 1, blocks_per_bucket: 3, ..path },
        350,
    );
    assert_same(Configuration { leaf_level: 1, blocks: 5, aes_lanes: 1, bus_bits: 128, ..path }, 150);
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn raw_oram_shows_what_that_of_the_core_shows() {
    let raw = Configuration::paper(Scheme::Raw);
    assert_same(raw, 100);
    assert_same(small(Scheme::Raw), 350);
    assert_same(Configuration { leaf_level: 4, block_bytes: 4096, blocks: 40, ..raw }, 30);
    assert_same(Configuration { leaf_level: 8, bus_bits: 128, blocks: 500, aes_lanes: 1, ..raw }, 100);
    assert_same(
        Configuration {
            leaf_level: 6,
            bus_bits: 256,
            blocks_per_bucket: 4,
            eviction_rate: 3,
            blocks: 150,
            ..raw
        },
        150,
    );
    assert_same_with_emergencies(Configuration { leaf_level: 4, stash_blocks: 3, blocks: 60, ..raw }, 350);
    assert_same(
        Configuration {
            leaf_level: 0,
            blocks: 2,
            blocks_per_bucket: 3,
            eviction_rate: 1,
            mask_beats: 16,
            ..raw
        },
        100,
    );
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_tree_top_sizes_by_level_and_subtrees_show_what_the_golden_model_shows() {
    assert_same(Configuration { top_levels: 8, scan_lanes: 2, ..Configuration::paper(Scheme::Raw) }, 80);
    for scheme in [Scheme::Path, Scheme::Raw] {
        assert_same(with_options(scheme), 250);
    }
    // Nothing but leaves in memory, or nothing but the root on chip, and few places in the stash.
    let low =
        Configuration { leaf_level: 3, blocks: 32, stash_blocks: 3, ..Configuration::paper(Scheme::Raw) };
    assert_same_with_emergencies(Configuration { top_levels: 3, ..low }, 350);
    let path = Configuration {
        scheme: Scheme::Path,
        blocks: 26,
        stash_blocks: 1,
        blocks_per_bucket: 3,
        scan_lanes: 2,
        ..low
    };
    assert_same_with_emergencies(Configuration { top_levels: 1, subtree_levels: 3, ..path }, 350);
    // A subtree of more than 2^32 bytes.
    assert_same(
        Configuration {
            leaf_level: 15,
            subtree_levels: 16,
            blocks_per_bucket: 16,
            eviction_rate: 16,
            block_bytes: 4096,
            aes_lanes: 4,
            blocks: 1000,
            ..Configuration::paper(Scheme::Raw)
        },
        30,
    );
    let sized = Configuration { top_levels: 0, bus_bits: 256, aes_lanes: 2, ..with_options(Scheme::Path) };
    assert_same(sized, 250);
}
