//! Memory that is slow, stalls, fails or lies.

use super::setup::*;
use ameles_core::types::Leaf;
use ameles_hardware_bench::{BenchError, Configuration, Faults, GoldenFrontEnd, Pace, Port, Refusal, Scheme};
use std::collections::HashSet;

/// Checks that under these conditions of memory, both schemes give the answers and ciphertexts of the core.
fn check_that_nothing_changes(seed: u64, conditions: &[(Pace, Faults)]) {
    for scheme in [Scheme::Raw, Scheme::Path] {
        let (configuration, session) = small_session(scheme, 500, seed);
        for &(pace, faults) in conditions {
            let run = bench(&configuration, None, pace, faults).run(&session);
            run.unwrap_or_else(|error| panic!("{scheme:?} {pace:?} {faults:?}: {error}"));
        }
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn memory_that_stalls_and_is_late_changes_no_answer_and_no_ciphertext() {
    let conditions = [(0, 0, 0), (3, 400, 128), (300, 1, 20), (90, 90, 200)];
    let conditions = conditions.map(|(read_latency, write_latency, stalls)| {
        (Pace { read_latency, write_latency }, Faults { stalls, ..Faults::default() })
    });
    check_that_nothing_changes(5, &conditions);
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_read_or_a_write_whose_answer_is_not_ok_stops_the_controller() {
    let (configuration, session) = small_session(Scheme::Raw, 100, 6);
    for response in 1..=3 {
        let refusal = Some(Refusal { nth: 90, response });
        for faults in [
            Faults { read_error: refusal, ..Faults::default() },
            Faults { write_error: refusal, ..Faults::default() },
        ] {
            let mut bench = bench(&configuration, None, Pace::IDEAL, faults);
            let stopped = bench.run(&session).unwrap_err();
            assert_eq!(stopped, BenchError::Stopped("memory answered with an error"), "{faults:?}");
            assert!(bench.finish_bursts(2000), "{faults:?}: a burst has no end");
        }
    }
}

/// AXI lets memory wait for the beats of a write before it takes the address.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn memory_that_takes_the_beats_of_a_write_before_its_address_changes_no_ciphertext() {
    let conditions = [0, 128];
    let conditions =
        conditions.map(|stalls| (Pace::IDEAL, Faults { beats_first: true, stalls, ..Faults::default() }));
    check_that_nothing_changes(9, &conditions);
}

/// Paths of more beats than are in flight at once, or of fewer; configurations that the comparison builds as well.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn memory_that_serves_one_direction_at_a_time_waits_for_neither() {
    let [path, raw] = [Scheme::Path, Scheme::Raw].map(Configuration::paper);
    let narrow = Configuration { leaf_level: 8, bus_bits: 128, blocks: 500, aes_lanes: 1, ..raw };
    let medium = Configuration { leaf_level: 7, block_bytes: 256, blocks_per_bucket: 3, blocks: 130, ..path };
    let large = Configuration { leaf_level: 4, block_bytes: 4096, blocks: 40, ..raw };
    for port in [Port::ReadsFirst, Port::WritesFirst] {
        let faults = Faults { port, ..Faults::default() };
        for (configuration, operations) in [(path, 20), (raw, 20), (narrow, 30), (medium, 30), (large, 12)] {
            let session = mixed_operations(&configuration, operations, 11).session();
            let run = bench(&configuration, None, Pace::IDEAL, faults).run(&session);
            run.unwrap_or_else(|error| panic!("{port:?} {configuration:?}: {error}"));
        }
        let small = small_front_end(Scheme::Raw);
        let whole = Configuration { block_bytes: 4096, leaf_level: 4, blocks: 40, ..small }.with_tags(64);
        let mut golden = GoldenFrontEnd::new(whole, 1);
        for (block, data) in requests(&whole, 8, 2) {
            golden.run(block, data);
        }
        let run = bench_with_keys(&whole, None, Pace::IDEAL, faults, golden.keys()).run(&golden.session());
        run.unwrap_or_else(|error| panic!("{port:?} {whole:?}: {error}"));
    }
}

/// The bench's controllers wait at most 1000 cycles.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_long_stall_of_memory_is_signalled_and_changes_no_answer() {
    for scheme in [Scheme::Raw, Scheme::Path] {
        let (configuration, session) = small_session(scheme, 12, 5);
        for (read_latency, write_latency, stalls) in
            [(30, 10, false), (900, 900, false), (1200, 10, true), (30, 1200, true)]
        {
            let pace = Pace { read_latency, write_latency };
            let run = bench(&configuration, None, pace, Faults::default()).run(&session).unwrap();
            assert_eq!(run.stalled > 0, stalls, "{scheme:?} {pace:?}: {} cycles", run.stalled);
            assert!(run.stalled < run.cycles, "{scheme:?} {pace:?}: it falls again");
        }
    }
}

/// An answer to a beat that failed is not an answer: the error is signalled before it could come.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn no_answer_comes_after_an_error_and_every_burst_ends() {
    let configuration = small_front_end(Scheme::Raw);
    let mut golden = GoldenFrontEnd::new(configuration, 3);
    for (block, data) in requests(&configuration, 300, 3) {
        golden.run(block, data);
    }
    let session = golden.session();
    for nth in (300..1500).step_by(30) {
        let faults = Faults { read_error: Some(Refusal { nth, response: 2 }), ..Faults::default() };
        let mut bench = bench_with_keys(&configuration, None, Pace::IDEAL, faults, golden.keys());
        let stopped = bench.drive(&session).err();
        assert_eq!(stopped, Some(BenchError::Stopped("memory answered with an error")), "{nth}");
        assert!(bench.finish_bursts(2000), "{nth}: a burst has no end");
        let answered = bench.answer_contents();
        assert_eq!(answered, &session.answers[..answered.len()], "{nth}");
    }
}

/// Headers of an earlier state bring blocks that are already stored. Without tags these are more blocks than paths take
/// back.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_stash_that_stale_memory_fills_stops_the_controller() {
    let configuration = Configuration { leaf_level: 4, blocks: 40, stash_blocks: 10, ..small(Scheme::Path) };
    let mut session = mixed_operations(&configuration, 500, 8).session();
    session.drawn.extend((0..3000).map(|nth| Leaf(7 * nth % 16)));
    for stale in [300, 500, 700] {
        let faults = Faults { stale, ..Faults::default() };
        let mut bench = bench(&configuration, None, Pace::IDEAL, faults);
        let stopped = bench.drive(&session);
        assert_eq!(stopped.unwrap_err(), BenchError::Stopped("the stash is too full"), "{stale}");
        assert!(bench.finish_bursts(3000), "{stale}: a burst has no end");
    }
}

/// Every path is written under a fresh IV, which precedes each header, for any answers of memory.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn no_iv_is_used_twice_whatever_memory_answers() {
    for scheme in [Scheme::Raw, Scheme::Path] {
        let (configuration, session) = small_session(scheme, 200, 7);
        for flip in [3, 700, 1500] {
            let faults = Faults { flip: Some(flip), ..Faults::default() };
            let mut bench = bench(&configuration, None, Pace::IDEAL, faults);
            // Junk in headers may fill the stash, which stops the controller; until then no pad is used again.
            let _stopped_or_not = bench.drive(&session);
            let mut seen = HashSet::new();
            for &(address, iv) in bench.memory().first_words() {
                assert!(seen.insert((address, iv)), "{scheme:?}: {address:#x} under {iv} again");
            }
            assert!(!seen.is_empty());
        }
    }
}
