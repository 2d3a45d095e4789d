//! Tests of several cores.

use super::super::*;
use super::{SMALL, gaps, miss};
use proptest::prelude::*;

/// Lines of each core's part of the memory.
const PART: u64 = 1 << 20;

fn shape(count: usize) -> Shape {
    Shape { cores: Cores { count, lines: PART }, ..SMALL }
}

/// The misses of all cores: those of each in their order, and the cores in turn.
fn merged(traces: &[Vec<Miss>]) -> Vec<Miss> {
    let longest = traces.iter().map(Vec::len).max().unwrap_or(0);
    let nth = |nth: usize| {
        (0..).zip(traces).filter_map(move |(core, trace): (u64, &Vec<Miss>)| Some((core, trace.get(nth)?)))
    };
    let in_part = |(core, miss): (u64, &Miss)| Miss { line: Line(core * PART + miss.line.0), ..*miss };
    (0..longest).flat_map(nth).map(in_part).collect()
}

/// Runs to the end over a memory that answers every request this many cycles after it was sent, and advances `step`
/// cycles at a time. Returns the requests.
fn run(shape: Shape, cache: Cache, trace: Vec<Miss>, latency: u64, step: u64) -> (Vec<Request>, Counts) {
    let mut processor = Processor::new(shape, cache, trace.into_iter());
    let (mut requests, mut limit) = (Vec::new(), Cycle(step));
    loop {
        match processor.advance_to(limit) {
            Next::Reached => limit.0 = limit.0.saturating_add(step),
            Next::Request(request) => {
                processor.answer(&request, Cycle(request.at.0 + latency));
                requests.push(request);
            }
            Next::Waits => panic!("every request is answered"),
            Next::Done(end) => {
                assert_eq!(processor.counts().ends.into_iter().max(), Some(end));
                return (requests, processor.counts());
            }
        }
    }
}

fn program() -> impl Strategy<Value = Vec<Miss>> {
    let one = (gaps(), any::<bool>(), 0..100u64)
        .prop_map(|(gap, stores, line)| miss(gap, if stores { Kind::Store } else { Kind::Load }, line));
    prop::collection::vec(one, 0..60)
}

proptest! {
    #[test]
    fn cores_that_do_not_meet_in_the_cache_run_as_each_does_alone(
        traces in prop::collection::vec(program(), 1..5), latency in 1u64..200, step in 1u64..500,
    ) {
        // No set is ever full: nothing is evicted.
        let cache = || Cache::new(64 * 512 * 64, 64).unwrap();
        let (requests, counts) = run(shape(traces.len()), cache(), merged(&traces), latency, u64::MAX);
        prop_assert!(requests.is_sorted_by_key(|request| request.at), "requests come in the order of time");
        let (in_steps, same) = run(shape(traces.len()), cache(), merged(&traces), latency, step);
        prop_assert_eq!((&in_steps, same), (&requests, counts));
        for (nth, trace) in traces.iter().enumerate() {
            let (alone, counts_alone) = run(shape(1), cache(), trace.clone(), latency, u64::MAX);
            let sent = |requests: &[Request], core: usize| -> Vec<(Cycle, u64, Reason)> {
                let own = requests.iter().filter(|request| request.core == core);
                own.map(|request| (request.at, request.line.0 % PART, request.reason)).collect()
            };
            prop_assert_eq!(sent(&requests, nth), sent(&alone, 0));
            prop_assert_eq!(counts.ends[nth], counts_alone.ends[0]);
        }
    }

    #[test]
    fn a_count_of_fetched_instructions_stops_all_cores_at_it(
        traces in prop::collection::vec(program(), 2..4), every in 1u64..300,
    ) {
        let cache = Cache::new(64 * 512 * 64, 64).unwrap();
        let mut processor = Processor::new(shape(traces.len()), cache, merged(&traces).into_iter());
        let mut limit = every;
        let mut last = Cycle(0);
        loop {
            match processor.advance_to_fetch(limit) {
                Next::Reached => {
                    prop_assert_eq!(processor.counts().instructions, limit);
                    prop_assert!(processor.now() >= last, "the clock runs back");
                    last = processor.now();
                    limit += every;
                }
                Next::Request(request) => processor.answer(&request, Cycle(request.at.0 + 50)),
                Next::Waits => panic!("every request is answered"),
                Next::Done(_) => break,
            }
        }
        let all: u64 = traces.iter().flatten().map(|miss| u64::from(miss.instructions) + 1).sum();
        prop_assert_eq!(processor.counts().instructions, all);
    }
}

#[test]
fn where_instructions_are_counted_a_long_gap_of_one_core_takes_no_turns_of_another() {
    let often: Vec<Miss> = (0..100).map(|line| miss(9, Kind::Store, line)).collect();
    let trace = merged(&[vec![miss(100_000, Kind::Load, 0)], often]);
    let cache = Cache::new(64 * 512 * 64, 64).unwrap();
    let mut processor = Processor::new(shape(2), cache, trace.into_iter());
    let mut requests = 0;
    // The gap would fit into the count, and leave half of the other core's instructions for later.
    while let Next::Request(request) = processor.advance_to_fetch(100_500) {
        assert_eq!(request.core, 1);
        processor.answer(&request, Cycle(request.at.0 + 5));
        requests += 1;
    }
    assert_eq!((requests, processor.counts().instructions), (100, 100_500));
}

#[test]
fn cores_share_the_cache_and_each_writes_back_what_it_evicts() {
    // Sets of two lines: all of these are in one. The second core evicts the first one's line, which is dirty.
    let first = vec![miss(0, Kind::Store, 0), miss(400, Kind::Load, 0)];
    let second = vec![miss(99, Kind::Load, 4), miss(99, Kind::Load, 8)];
    let (requests, counts) =
        run(shape(2), Cache::new(512, 2).unwrap(), merged(&[first, second]), 10, u64::MAX);
    let sent: Vec<_> =
        requests.iter().map(|request| (request.core, request.line.0 % PART, request.reason)).collect();
    let expected = [
        (0, 0, Reason::Store),
        (1, 4, Reason::Load),
        (1, 8, Reason::Load),
        (1, 0, Reason::WriteBack),
        (0, 0, Reason::Load),
    ];
    assert_eq!((sent.as_slice(), counts.written_back), (&expected[..], 1));
    assert_eq!(requests[3].line, Line(0), "it is of the first core's part");
}

#[test]
fn a_core_without_a_trace_is_done_at_once_and_a_stall_holds_up_no_other() {
    let traces = [vec![miss(0, Kind::Load, 1)], Vec::new(), vec![miss(9, Kind::Load, 2)]];
    let mut processor = Processor::new(shape(3), Cache::new(512, 2).unwrap(), merged(&traces).into_iter());
    let requests = [0, 1].map(|_| match processor.advance() {
        Next::Request(request) => request,
        other => panic!("{other:?}"),
    });
    assert_eq!(requests.map(|request| request.core), [0, 2], "the first one waits");
    assert_eq!(processor.advance(), Next::Waits);
    processor.answer(&requests[1], Cycle(20));
    assert_eq!(processor.advance(), Next::Waits);
    assert_eq!(processor.counts().ends[..3], [Cycle(0), Cycle(0), Cycle(24)]);
    processor.answer(&requests[0], Cycle(500));
    assert_eq!(processor.advance(), Next::Done(Cycle(504)));
}
