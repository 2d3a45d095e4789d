//! The blocks that Ring ORAM moves, and what overlapped writes change.

use super::*;
use crate::tree::store::MovedSlots;

/// With overlapped writes the same paths read the same blocks, and the program waits less.
#[test]
fn overlapped_writes_change_no_path_and_save_time() {
    for scheme in [Scheme::Baseline, Scheme::Raw, Scheme::Ring] {
        let mut configuration = configuration(scheme, Pace::Free);
        configuration.oram.hits = TrustedHits::ReadThePath;
        let [in_turn, overlapped] = [false, true].map(|overlapped| {
            configuration.overlapped_writes = overlapped;
            let mut leaves = Vec::new();
            let run = machine(&configuration)
                .run(program(Program::Random, 500, 1), 0, |path| leaves.push((path.leaf, path.slots)));
            (run.expect("it ends"), leaves)
        });
        assert_eq!(in_turn.1, overlapped.1, "{scheme:?}");
        // A path's writes at most are not done when the program ends.
        for (all, done) in [
            (in_turn.0.work.writes, overlapped.0.work.writes),
            (
                in_turn.0.work.reads + in_turn.0.work.forwarded,
                overlapped.0.work.reads + overlapped.0.work.forwarded,
            ),
        ] {
            assert!(done <= all && 100 * done > 98 * all, "{scheme:?}: {done} of {all}");
        }
        let [cycles, fewer] = [in_turn.0.cycles.0, overlapped.0.cycles.0];
        assert!(10 * fewer < 9 * cycles, "{scheme:?}: {fewer} of {cycles}");
    }
}

/// Ring ORAM: a slot of each bucket is read, and every A accesses Z slots of each bucket of a path, and all are
/// written.
#[test]
fn an_access_of_ring_oram_reads_a_slot_of_each_bucket() {
    for metadata in [Headers::OnChip, Headers::InMemory] {
        let mut configuration = configuration(Scheme::Ring, Pace::Free);
        configuration.oram.scheme = TreeScheme::Ring { eviction_rate: 8, reads: 12, slots: 12, metadata };
        slots_are_moved(&configuration, u64::from(metadata == Headers::InMemory));
    }
}

/// Lines of states that buckets share: a line for the subtree of five levels that each is in.
fn state_lines(top: u32, moved: &MovedSlots) -> u64 {
    let root = |(level, index): (Level, u64)| {
        let up = (level.0 - top) % 5;
        (level.0 - up, index >> up)
    };
    moved.buckets().into_iter().map(root).collect::<BTreeSet<_>>().len() as u64
}

/// Metadata take a line more of each bucket that is read or written, and lines of states, which each step writes.
fn slots_are_moved(configuration: &Configuration, metadata: u64) {
    let levels = u64::from(LEVELS - configuration.oram.top_levels);
    let mut observed = Vec::new();
    let outcome =
        machine(configuration).run(program(Program::Random, 2000, 1), 0, |path| observed.push(path));
    let Outcome { counts, work, .. } = outcome.unwrap();
    let accesses = counts.paths() - counts.evictions - counts.reshuffles;
    assert_eq!((counts.evictions, counts.background), (accesses / 8, 0));
    let moved = || observed.iter().flat_map(|path| &path.slots);
    let written: u64 = moved().map(|moved| moved.written.len() as u64).sum();
    let states =
        metadata * moved().map(|moved| state_lines(configuration.oram.top_levels, moved)).sum::<u64>();
    assert_eq!(work.writes, (12 + metadata) * written + states);
    assert!(moved().all(|moved| match moved.written.len() as u64 {
        0 => moved.read.len() as u64 == levels,
        buckets => moved.read.len() as u64 <= 8 * buckets + 3,
    }));
    let read: u64 = moved().map(|moved| moved.read.len() as u64).sum();
    assert_eq!(work.reads + work.forwarded, read + metadata * (levels * accesses + written) + states);
}
