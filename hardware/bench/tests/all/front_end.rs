//! The front end compared with that of the core: PLB, PosMaps, counters and their remaps, tags.

use super::setup::*;
use ameles_core::types::{BlockId, Leaf};
use ameles_hardware_bench::{
    BenchError, Configuration, Faults, FrontEnd, GoldenFrontEnd, Mutant, Operation, Pace, Scheme, Session,
};

/// Does requests, half of them of a few blocks again and again.
fn run(configuration: Configuration, mutant: Option<&Mutant>, operations: usize) -> Result<(), BenchError> {
    let mut golden = GoldenFrontEnd::new(configuration, 1);
    let mut bench = bench_with_keys(&configuration, mutant, Pace::IDEAL, Faults::default(), golden.keys());
    for (nth, portion) in portions(operations).enumerate() {
        let mut paths = 0;
        for (block, data) in requests(&configuration, portion, 2 + nth as u64) {
            paths += golden.run(block, data);
        }
        assert!(paths as usize > portion, "PosMap blocks were fetched");
        bench.run(&golden.take_session())?;
    }
    Ok(())
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn the_front_end_shows_what_that_of_the_core_shows() {
    let of_paper = Configuration::paper(Scheme::Raw).with_front_end();
    let mut small = [Scheme::Raw, Scheme::Path].map(small_front_end);
    small[1].top_levels = 2;
    for (configuration, operations) in [(small[0], 300), (small[1], 300), (of_paper, 100)] {
        run(configuration, None, operations).unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
    }
}

/// The counters of a PosMap block take two beats of four, or a part of the first of 64.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn blocks_of_many_beats_show_what_the_core_shows() {
    let small = small_front_end(Scheme::Raw);
    let wide = small.front_end.map(|front_end| FrontEnd { labels: 16, label_bits: 6, ..front_end });
    let narrow_bus = Configuration { bus_bits: 128, aes_lanes: 1, front_end: wide, ..small };
    let large_blocks = Configuration { block_bytes: 4096, leaf_level: 4, blocks: 40, ..small };
    let path = Configuration { block_bytes: 128, top_levels: 2, ..small_front_end(Scheme::Path) };
    for (configuration, operations) in [
        (narrow_bus, 150),
        (narrow_bus.with_tags(96), 150),
        (large_blocks.with_tags(64), 30),
        (path, 150),
        (path.with_tags(128), 150),
    ] {
        run(configuration, None, operations).unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn the_front_end_with_tags_shows_what_that_of_the_core_shows() {
    let of_paper = Configuration::paper(Scheme::Raw).with_front_end().with_tags(96);
    let small = [Scheme::Raw, Scheme::Path].map(small_with_tags);
    let with_options = small.map(|small| Configuration {
        leaf_level: 6,
        blocks: 150,
        front_end: small.front_end,
        ..with_options(small.scheme)
    });
    for (configuration, operations) in
        [(small[0], 500), (small[1], 500), (of_paper, 100), (with_options[0], 300), (with_options[1], 300)]
    {
        run(configuration, None, operations).unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
    }
}

/// The bus shows it as a read of block 0.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_block_beyond_the_capacity_is_zeros_and_changes_nothing() {
    let configuration = small_with_tags(Scheme::Raw);
    let mut golden = GoldenFrontEnd::new(configuration, 1);
    golden.run(BlockId(0), Some(vec![7; 64]));
    for _ in 0..3 {
        golden.run(BlockId(0), None);
    }
    let mut session = golden.session();
    let beyond = BlockId(u64::from(configuration.blocks));
    session.requests[1].operation = Operation::Read(beyond);
    session.requests[2].operation = Operation::Write(BlockId(u32::MAX.into()), vec![9; 64]);
    session.answers[1..3].fill(vec![0; 64]);
    bench_with_keys(&configuration, None, Pace::IDEAL, Faults::default(), golden.keys())
        .run(&session)
        .unwrap();
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn no_path_is_read_before_both_keys_are_there() {
    let configuration = small_with_tags(Scheme::Raw).with_slots(100);
    let golden = GoldenFrontEnd::new(configuration, 1);
    let mut bench =
        bench_with_keys(&configuration, None, Pace::IDEAL, Faults::default(), &golden.keys()[..1]);
    let mut golden = golden;
    golden.run(BlockId(0), None);
    let session = Session { spare: vec![Leaf(0); 500], ..golden.session() };
    let run = bench.drive(&session).unwrap();
    assert_eq!((run.requests.len(), run.answers.len()), (1, 0), "the request was taken, and waits");
    assert_eq!(bench.memory().traffic().reads, []);
}

/// The key of tags must not replace the key of the pads, which would then count as new after the next reset.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn keys_that_were_used_are_refused_after_every_reset_and_none_takes_their_place() {
    let configuration = small_with_tags(Scheme::Raw);
    let mut golden = GoldenFrontEnd::new(configuration, 1);
    golden.run(BlockId(0), None);
    let session = golden.session();
    let mut bench = bench_with_keys(&configuration, None, Pace::IDEAL, Faults::default(), golden.keys());
    bench.run(&session).unwrap();
    for _ in 0..3 {
        bench.reset();
        assert_eq!([0, 1].map(|nth| bench.offer_key(&golden.keys()[nth])), [true, false]);
        assert_eq!(bench.drive(&session).unwrap_err(), BenchError::Stopped("the key was used before"));
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_key_for_both_masks_and_tags_is_refused() {
    let configuration = small_with_tags(Scheme::Raw);
    let session = GoldenFrontEnd::new(configuration, 1).session();
    let mut bench = bench_with_keys(&configuration, None, Pace::IDEAL, Faults::default(), &[KEY, KEY]);
    assert!(!bench.offer_key(b"some other key.."));
    assert_eq!(bench.drive(&session).unwrap_err(), BenchError::Stopped("the key was used before"));
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn each_wrong_front_end_is_found_by_comparison() {
    for mutant in &Mutant::FRONT_END {
        let run = run(small_with_tags(Scheme::Raw), Some(mutant), 400);
        assert!(run.is_err(), "{} was not found", mutant.fault);
    }
}
