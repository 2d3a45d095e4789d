//! Tests of runs in real time. They are about counts: no test checks a time.

use super::run::RealRun;
use super::*;
use crate::thesis::job::{ObjectPart, Step};
use crate::thesis::run_result::RunResult;
use crate::virtual_time::ServerTime;
use ameles_store::{BitsPerSecond, LinkSpeed};
use std::time::Duration;

/// Three objects that are written, read, written and read; over a link that takes no time. One of them shrinks.
fn counted(scheme: &'static str) -> (RealRun, RunResult) {
    let small = Some(ObjectPart { first: 0, bytes: 20_000 });
    let nothing = Some(ObjectPart { first: 0, bytes: 0 });
    let step = |(writes, object, part)| Step { part, ..Step::whole(writes, object) };
    let steps = [
        (true, 0, None),
        (true, 1, None),
        (true, 2, None),
        (false, 1, None),
        (true, 0, small),
        (false, 0, small),
        (false, 2, nothing),
        (false, 2, None),
        (true, 2, None),
    ];
    let job = Job { sizes: vec![300_000, 50_000, 700_000], steps: steps.map(step).into(), ..Job::default() };
    let unlimited = BitsPerSecond(0);
    let options = Options {
        link: LinkSpeed { round_trip: Duration::ZERO, up: unlimited, down: unlimited },
        server: ServerTime::default(),
        block_bytes: vec![16 << 10],
        oram_bytes: Some(4 << 20),
        ..Options::standard()
    };
    let trial = trial(&options, &job);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let both = run_both(&runtime, scheme, &trial, &options).unwrap();
    (both.real, both.simulated)
}

#[test]
fn objects_and_blocks_are_moved_by_the_same_requests_in_real_and_in_virtual_time() {
    for scheme in ["none", "blocks"] {
        let (real, simulated) = counted(scheme);
        let counts = |result: &RunResult| {
            (
                result.usage.gets(),
                result.usage.puts(),
                result.usage.bytes_up,
                result.usage.bytes_down,
                result.accesses,
            )
        };
        assert_eq!(counts(&real.result), counts(&simulated), "{scheme}");
    }
}

#[test]
fn a_vault_moves_the_bytes_of_its_scheme_and_writes_about_as_many_buckets() {
    let (real, simulated) = counted("ring");
    assert_eq!((real.result.accesses, real.result.emergencies), (simulated.accesses, 0));
    let (real, simulated) = (real.result.usage, simulated.usage);
    // Here buckets were read before the job begins, there all are as they were written.
    let is_near = |real: u64, simulated: u64, max: f64| (real as f64 / simulated as f64 - 1.0).abs() < max;
    // A bucket without unread slots is written early, by chance.
    assert!(is_near(real.bucket_writes, simulated.bucket_writes, 0.03), "{real:?} {simulated:?}");
    assert!(is_near(real.bytes_up, simulated.bytes_up, 0.03), "{real:?} {simulated:?}");
    assert!(is_near(real.bytes_down, simulated.bytes_down, 0.03), "{real:?} {simulated:?}");
    assert!(is_near(real.slot_reads, simulated.slot_reads, 0.4), "{real:?} {simulated:?}");
}
