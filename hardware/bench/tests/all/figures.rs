//! The means of the report: DRAM behind the bus, chains of requests, traces of programs, the count of AES.

use super::setup::*;
use ameles_hardware_bench::{
    BucketCost, Configuration, Dram, Faults, Operation, Pace, Recursion, Request, Scheme,
    board_specification, rand, session_of,
};

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn over_dram_the_controller_shows_what_the_core_shows() {
    for scheme in [Scheme::Raw, Scheme::Path] {
        let (configuration, session) = small_session(scheme, 500, 8);
        let mut bench = bench(&configuration, None, Pace::IDEAL, Faults::default());
        bench.attach_dram(Dram::new(&board_specification(), 200, Pace::IDEAL.read_latency).unwrap()).unwrap();
        let run = bench.run(&session).unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
        let counts = bench.memory().dram().unwrap().counts();
        let beats = (run.traffic.read_beats.len() + run.traffic.write_beats.len()) as u64;
        assert_eq!(counts.reads + counts.forwarded + counts.writes, beats);
        // A burst of DRAM takes a cycle.
        assert!(run.cycles > counts.reads + counts.writes, "{} cycles for {counts:?}", run.cycles);
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn each_path_of_a_recursion_waits_for_the_answer_of_the_one_before() {
    let front_end = small_front_end(Scheme::Path).front_end;
    let of = Configuration { blocks: 100, front_end, ..small(Scheme::Path) };
    let Recursion { configuration, session } = Recursion::new(&of, &rand(100, 200), &KEY);
    assert_eq!(session.chain, 3);
    let run = bench(&configuration, None, Pace::IDEAL, Faults::default()).run(&session).unwrap();
    for nth in 1..session.requests.len() {
        let waits = run.requests[nth] > run.answers[nth - 1];
        assert_eq!(waits, !nth.is_multiple_of(3), "request {nth}: a chain begins while the one before ends");
    }
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_program_gets_back_what_it_wrote_last() {
    let configuration = small_front_end(Scheme::Raw);
    let mut accesses = rand(150, 1500);
    accesses.iter_mut().step_by(2).for_each(|access| access.writes = true);
    let session = session_of(&configuration, &accesses);
    let run = bench(&configuration, None, Pace::IDEAL, Faults::default()).drive(&session).unwrap();
    assert!(run.answer_contents == session.answers, "an answer is not what was written last");
}

/// The count of a bench, from the beginning to the last answer, compared with the count that follows from the layout.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn the_blocks_of_aes_that_begin_are_those_that_the_layout_needs() {
    for (scheme, in_access) in [
        // Rows of 12 · Z bits: a block of AES each; 4 for each of Z blocks. Path ORAM: both, in and out.
        (Scheme::Path, 2.0 * (1.0 + 4.0 * 4.0)),
        // Headers in and out, a block of interest in 6 buckets, and every 5 accesses all, in and out.
        (Scheme::Raw, 2.0 + 4.0 / 6.0 + 2.0 * (1.0 + 4.0 * 5.0) / 5.0),
    ] {
        let (configuration, session) = small_session(scheme, 600, 9);
        let has_path = |request: &&Request| !matches!(request.operation, Operation::Put(..));
        let paths = session.requests.iter().filter(has_path).count();
        let run = bench(&configuration, None, Pace::IDEAL, Faults::default()).run(&session).unwrap();
        let counted = BucketCost::counted(&configuration, 0.0, f64::from(*run.aes_chunks.last().unwrap()));
        let (is, should) = (counted.encryption * 4.0, in_access * paths as f64);
        assert!((is / should - 1.0).abs() < 0.1, "{scheme:?}: {is} instead of {should}");
    }
}
