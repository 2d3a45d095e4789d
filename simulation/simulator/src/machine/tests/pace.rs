//! The rates that count instructions, and the checkpoints of a run.

use super::*;

/// A program fetches during a long rest, but not while it waits for its lines.
#[test]
fn a_rate_of_instructions_has_a_dummy_per_number_of_fetched_ones() {
    for scheme in [Scheme::Baseline, Scheme::IrDwb, Scheme::Ring] {
        let run = |program_of: Program| {
            let configuration = configuration(scheme, Pace::Instructions(4000));
            machine(&configuration).run(program(program_of, 200, 1), 0, |_| ()).expect("it ends").counts
        };
        let Counts { dummy, early, reshuffles, evictions, .. } = run(Program::Writes);
        let turns = dummy + early + reshuffles + evictions;
        assert!((900..=1700).contains(&turns), "{scheme:?}: {turns} in 200 times 30,000 instructions");
        assert_eq!(run(Program::Random).dummy, 0, "{scheme:?}");
    }
}

/// Every T instructions between two requests a dummy is sent, however long a path takes. While a request waits, no
/// dummy is sent.
#[test]
fn a_rate_of_fetches_has_a_dummy_per_number_of_instructions_even_if_paths_are_slow() {
    for (scheme, mhz) in
        [(Scheme::Baseline, 800), (Scheme::IrDwb, 800), (Scheme::Ring, 800), (Scheme::Baseline, 100)]
    {
        let run = |program_of: Program| {
            let mut configuration = configuration(scheme, Pace::Fetches(1000));
            configuration.memory.clock.mhz = mhz;
            machine(&configuration).run(program(program_of, 200, 1), 0, |_| ()).expect("it ends").counts
        };
        let counts = run(Program::Writes);
        let turns = counts.paths() - counts.data - counts.posmap_paths();
        assert!(
            (5600..=6100).contains(&turns),
            "{scheme:?}, {mhz}: {turns} in 200 times 30,000 instructions"
        );
        assert!(run(Program::Random).dummy < 5, "{scheme:?}");
    }
}

/// The counts at a checkpoint are those of a run that ends there, but for what the processor had asked for ahead.
#[test]
fn a_checkpoint_has_what_the_run_had_done_after_so_many_misses() {
    for (scheme, pace) in [(Scheme::Baseline, Pace::Free), (Scheme::IrOram, Pace::FromEnd(700))] {
        let configuration = configuration(scheme, pace);
        let run = |misses: u64, checkpoints: &[u64]| {
            let trace = program(Program::Random, misses, 1).take(misses as usize);
            machine(&configuration).run_with_checkpoints(trace, 100, checkpoints, |_| ()).unwrap()
        };
        let outcome = run(1100, &[200, 500, 1000, 1001]);
        let misses: Vec<u64> = outcome.checkpoints.iter().map(|checkpoint| checkpoint.misses).collect();
        assert_eq!(misses, [200, 500, 1000], "the trace has no more after its warm-up");
        for Checkpoint { misses, cycles, counts } in &outcome.checkpoints {
            let ended = run(100 + misses, &[]);
            let (paths, all) = (counts.paths(), ended.counts.paths());
            assert!(paths <= all && all < paths + 250, "{scheme:?}, {misses}: {paths} of {all}");
            assert!(*cycles <= ended.cycles && counts.background <= ended.counts.background);
        }
        let [first, second, _] = &outcome.checkpoints[..] else { panic!("three") };
        assert!(first.counts.data > 100 && second.counts.data - first.counts.data > 200);
    }
}
