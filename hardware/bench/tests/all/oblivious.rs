//! The bus in cycles: for the same paths it shows the same, for any requests. Its only other input is the time of each
//! request, which the user decides.

use super::setup::*;
use ameles_core::types::Leaf;
use ameles_hardware_bench::{Configuration, Faults, Mutant, Operation, Pace, Run, Scheme, Session};

fn drive(configuration: &Configuration, mutant: Option<&Mutant>, session: &Session) -> Run {
    bench(configuration, mutant, Pace::IDEAL, Faults::default()).drive(session).unwrap()
}

/// Changes the operations of a session, and leaves its paths. Answers that are still right are retained.
fn with_operations(session: &Session, change: impl Fn(&Operation) -> Operation) -> Session {
    let mut changed = session.clone();
    for request in &mut changed.requests {
        request.operation = change(&request.operation);
    }
    changed.answers.clear();
    changed
}

/// Runs a session of reads, writes and takes against the same paths with no block at all, and against others.
pub(crate) fn assert_bus_shows_only_paths(configuration: Configuration, mutant: Option<&Mutant>) {
    let golden = mixed_operations(&configuration, 600, 3);
    assert_eq!(golden.emergencies(), 0, "they show");
    let session = with_operations(&golden.session(), |operation| match operation {
        // A put reads no path: its time is visible, and the user chooses it.
        Operation::Put(block, _) => Operation::Read(*block),
        other => other.clone(),
    });
    let run = drive(&configuration, mutant, &session);
    let dummies = with_operations(&session, |_| Operation::Dummy);
    let same = drive(&configuration, mutant, &dummies);
    assert_eq!(run.traffic, same.traffic, "blocks show on the bus, compared with dummies of the same paths");
    assert_eq!(run.requests, same.requests, "blocks show in when a request is taken");
    let mut one = session.clone();
    for request in &mut one.requests {
        request.operation = Operation::Read(ameles_core::types::BlockId(0));
        request.leaf = Leaf(0);
    }
    assert_eq!(run.traffic, drive(&configuration, mutant, &one).traffic, "one block again and again shows");
}

/// Answers have a constant latency, wherever the block is found.
fn assert_answer_times_are_equal(configuration: Configuration) {
    let session = mixed_operations(&configuration, 400, 4).session();
    let reads = with_operations(&session, |operation| match operation.block() {
        Some(block) => Operation::Read(block),
        None => Operation::Read(ameles_core::types::BlockId(1)),
    });
    let mut far = reads.clone();
    for request in &mut far.requests {
        request.operation = Operation::Take(ameles_core::types::BlockId(7));
    }
    let (reads, far) = (drive(&configuration, None, &reads), drive(&configuration, None, &far));
    assert_eq!(
        reads.answers, far.answers,
        "reads of blocks and takes of one that is not there are answered alike"
    );
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn the_bus_shows_paths_and_times_only() {
    for scheme in [Scheme::Raw, Scheme::Path] {
        assert_bus_shows_only_paths(small(scheme), None);
        assert_answer_times_are_equal(small(scheme));
        assert_bus_shows_only_paths(with_options(scheme), None);
        assert_answer_times_are_equal(with_options(scheme));
    }
    assert_bus_shows_only_paths(
        Configuration { leaf_level: 9, blocks: 800, ..Configuration::paper(Scheme::Raw) },
        None,
    );
}
