//! Tests of the processor, by small programs whose cycles can be counted by hand.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

mod cores;

/// Two instructions per cycle, a buffer of four, two requests posted.
const SMALL: Shape = Shape {
    width: 2,
    reorder_buffer: 4,
    pipeline: 3,
    cache: 5,
    posted: 2,
    evicts_clean_lines: false,
    cores: Cores::ONE,
};

fn miss(instructions: u32, kind: Kind, line: u64) -> Miss {
    Miss { instructions, kind, line: Line(line) }
}

fn processor(shape: Shape, trace: &[Miss]) -> Processor<impl Iterator<Item = Miss> + '_> {
    Processor::new(shape, Cache::new(512, 2).unwrap(), trace.iter().copied())
}

/// Runs to the end over a memory that answers each request this many cycles after it was sent, one at a time. Returns
/// the requests, and the last cycle.
fn run(shape: Shape, trace: &[Miss], latency: u64) -> (Vec<Request>, u64) {
    run_in_steps(shape, trace, latency, u64::MAX)
}

/// Does the same as [`run`], and advances `step` cycles at a time.
fn run_in_steps(shape: Shape, trace: &[Miss], latency: u64, step: u64) -> (Vec<Request>, u64) {
    let mut processor = processor(shape, trace);
    let (mut requests, mut waiting, mut free) = (Vec::new(), VecDeque::new(), 0);
    let mut limit = Cycle(step);
    loop {
        match processor.advance_to(limit) {
            Next::Reached => limit.0 = limit.0.saturating_add(step),
            Next::Request(request) => {
                requests.push(request);
                waiting.push_back(request);
            }
            Next::Waits => {
                let request = waiting.pop_front().expect("it waits for a request");
                free = free.max(request.at.0) + latency;
                processor.answer(&request, Cycle(free));
            }
            Next::Done(cycle) => return (requests, cycle.0),
        }
    }
}

#[test]
fn instructions_without_misses_take_their_share_of_a_cycle_each() {
    // The last load hits, after the first one has brought its line.
    let trace = [miss(0, Kind::Load, 1), miss(399, Kind::Load, 1)];
    let (requests, end) = run(Shape { reorder_buffer: 128, ..SMALL }, &trace, 0);
    assert_eq!(requests.len(), 1);
    // 401 instructions by two a cycle, and the end of the last one.
    assert_eq!(end, 401 / 2 + 3 + 5 + 1);
}

#[test]
fn a_load_that_misses_holds_up_what_lies_beyond_the_reorder_buffer() {
    let trace = [miss(0, Kind::Load, 1), miss(2, Kind::Load, 2), miss(0, Kind::Load, 3)];
    let mut processor = processor(SMALL, &trace);
    let Next::Request(first) = processor.advance() else { panic!("the first load") };
    let Next::Request(second) = processor.advance() else { panic!("the second one is in the buffer") };
    assert_eq!((first.line, second.line, processor.advance()), (Line(1), Line(2), Next::Waits));
    processor.answer(&first, Cycle(100));
    let Next::Request(third) = processor.advance() else { panic!("the buffer has room") };
    // It retires in the cycle after it is done, and its place is free in that cycle.
    assert_eq!(third.at, Cycle(100 + 3 + 1));
}

#[test]
fn answers_may_come_in_any_order() {
    let trace = [miss(0, Kind::Load, 1), miss(0, Kind::Load, 2)];
    let mut processor = processor(SMALL, &trace);
    let requests = [0, 1].map(|_| match processor.advance() {
        Next::Request(request) => request,
        other => panic!("{other:?}"),
    });
    assert_eq!(processor.advance(), Next::Waits);
    processor.answer(&requests[1], Cycle(10));
    assert_eq!(processor.advance(), Next::Waits, "the first one is older");
    processor.answer(&requests[0], Cycle(50));
    assert_eq!(processor.advance(), Next::Done(Cycle(54)));
}

#[test]
fn stores_hold_up_nothing_until_too_many_lines_are_outstanding() {
    let stores: Vec<Miss> = (0..3).map(|line| miss(9, Kind::Store, line)).collect();
    let mut processor = processor(SMALL, &stores);
    let first = processor.advance();
    let Next::Request(first) = first else { panic!("{first:?}") };
    assert!(matches!(processor.advance(), Next::Request(request) if request.at < Cycle(20)));
    assert_eq!(processor.advance(), Next::Waits, "two are outstanding");
    processor.answer(&first, Cycle(500));
    assert!(matches!(processor.advance(), Next::Request(request) if request.at == Cycle(500)));
}

#[test]
fn a_dirty_line_that_has_to_go_is_written_back_after_the_miss_that_takes_its_place() {
    // Sets of two lines: 0, 4 and 8 are in one.
    let trace = [miss(0, Kind::Store, 0), miss(0, Kind::Load, 4), miss(0, Kind::Load, 8)];
    let (requests, _) = run(SMALL, &trace, 7);
    let requested: Vec<(Line, Reason)> =
        requests.iter().map(|request| (request.line, request.reason)).collect();
    let expected = [(0, Reason::Store), (4, Reason::Load), (8, Reason::Load), (0, Reason::WriteBack)]
        .map(|(line, reason)| (Line(line), reason));
    assert_eq!(requested, expected);
}

/// Computes the result of [`run`] by the same rules, one cycle at a time.
fn cycle_by_cycle(shape: Shape, trace: &[Miss], latency: u64) -> (Vec<(u64, Line, Reason)>, u64) {
    let mut cache = Cache::new(512, 2).unwrap();
    let mut program: VecDeque<Option<Miss>> = VecDeque::new();
    for one in trace {
        program.extend((0..one.instructions).map(|_| None));
        program.push_back(Some(*one));
    }
    // Each instruction of the buffer is done at a cycle. Requests are answered in sequence.
    let (mut buffer, mut requested) = (VecDeque::<u64>::new(), Vec::new());
    let (mut free, mut outstanding) = (0, VecDeque::<u64>::new());
    let mut cycle = 0;
    let (mut evicted, mut last) = (VecDeque::new(), 0);
    while !(program.is_empty() && buffer.is_empty() && evicted.is_empty()) {
        for _ in 0..shape.width {
            if buffer.front().is_some_and(|done| *done < cycle) {
                buffer.pop_front();
                last = cycle;
            }
        }
        outstanding.retain(|answered| *answered > cycle);
        let mut ask = |line, reason, outstanding: &mut VecDeque<u64>| {
            free = u64::max(free, cycle) + latency;
            requested.push((cycle, line, reason));
            if reason != Reason::Load {
                outstanding.push_back(free);
            }
            free
        };
        // The turn 0 of the first cycle is not a fetch: turns count from 1.
        let turns = if cycle == 0 { shape.width - 1 } else { shape.width };
        let mut left = turns;
        loop {
            while outstanding.len() < shape.posted
                && let Some(Victim { line, is_dirty }) = evicted.pop_front()
            {
                ask(line, if is_dirty { Reason::WriteBack } else { Reason::CleanEviction }, &mut outstanding);
            }
            if left == 0 || !evicted.is_empty() || buffer.len() == shape.reorder_buffer {
                break;
            }
            match program.front() {
                None => break,
                Some(None) => buffer.push_back(cycle + shape.pipeline),
                Some(Some(one)) => {
                    if one.kind == Kind::Store && outstanding.len() == shape.posted {
                        break;
                    }
                    let access = cache.access(one.line, one.kind == Kind::Store);
                    evicted
                        .extend(access.victim.filter(|victim| victim.is_dirty || shape.evicts_clean_lines));
                    let done = match (one.kind, access.is_hit) {
                        (Kind::Store, true) => cycle + shape.pipeline,
                        (Kind::Load, true) => cycle + shape.pipeline + shape.cache,
                        (Kind::Store, false) => {
                            ask(one.line, Reason::Store, &mut outstanding);
                            cycle + shape.pipeline
                        }
                        (Kind::Load, false) => ask(one.line, Reason::Load, &mut outstanding) + shape.pipeline,
                    };
                    buffer.push_back(done);
                }
            }
            program.pop_front();
            left -= 1;
        }
        cycle += 1;
    }
    (requested, last)
}

/// Gaps between misses: most of them short, and a few of many periods.
fn gaps() -> impl Strategy<Value = u32> {
    prop_oneof![15 => 0u32..12, 1 => 0u32..1000]
}

proptest! {
    #[test]
    fn it_does_what_the_rules_say_cycle_by_cycle(
        trace in prop::collection::vec((gaps(), any::<bool>(), 0u64..24), 1..60),
        latency in 1u64..40,
        (width, reorder_buffer, posted, pipeline) in (1u64..5, 1usize..20, 1usize..5, 0u64..9),
        evicts_clean_lines: bool,
        step in 1u64..50,
    ) {
        let kind = |stores| if stores { Kind::Store } else { Kind::Load };
        let trace: Vec<Miss> =
            trace.into_iter().map(|(between, stores, line)| miss(between, kind(stores), line)).collect();
        let shape = Shape { width, reorder_buffer, posted, pipeline, evicts_clean_lines, ..SMALL };
        let (requests, end) = run(shape, &trace, latency);
        prop_assert_eq!(&run_in_steps(shape, &trace, latency, step), &(requests.clone(), end));
        let requested: Vec<_> = requests.iter().map(|one| (one.at.0, one.line, one.reason)).collect();
        prop_assert_eq!((requested, end), cycle_by_cycle(shape, &trace, latency));
    }

    #[test]
    fn the_longest_gap_takes_a_few_periods_of_steps(
        (width, reorder_buffer, pipeline) in (1u64..9, 1usize..200, 0u64..60),
        answered in 0u64..500,
    ) {
        let shape = Shape { width, reorder_buffer, pipeline, ..SMALL };
        let trace = [miss(0, Kind::Load, 1), miss(u32::MAX, Kind::Load, 2)];
        let mut processor = processor(shape, &trace);
        let max = 12 * processor.cores[0].periods.length() + 1000;
        let second = (0..max).find_map(|_| match processor.step(0, u64::MAX, u64::MAX)? {
            Next::Request(request) if request.number == 1 => Some(request),
            Next::Request(first) => {
                processor.answer(&first, Cycle(answered));
                None
            }
            other => panic!("{other:?}"),
        });
        prop_assert!(second.is_some(), "more than {} steps", max);
        prop_assert_eq!(processor.counts().instructions, 2 + u64::from(u32::MAX));
    }
}

#[test]
fn a_gap_of_2_to_the_32_takes_a_cycle_per_four_instructions() {
    let trace = [miss(u32::MAX, Kind::Load, 1)];
    for limit in [u64::MAX, 1 << 28] {
        let mut processor = processor(Shape::IR_ORAM, &trace);
        let mut until = limit;
        let request = loop {
            match processor.advance_to(Cycle(until)) {
                Next::Reached => until += limit,
                Next::Request(request) => break request,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(request.at, Cycle(1 << 30));
    }
}
