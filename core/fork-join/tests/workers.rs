//! A platform's own workers: every part is done once, with the state of its lane and its own chunk.

use ameles_fork_join::{Workers, share};
use proptest::prelude::*;
use std::thread;

/// Threads that are made for each job.
struct Threads(usize);

// SAFETY: shares of lanes are disjoint and cover all parts, a lane belongs to one thread, and the scope waits for all.
unsafe impl Workers for Threads {
    fn lanes(&self) -> usize {
        self.0
    }

    fn do_parts(&self, parts: usize, work: &(dyn Fn(usize, usize) + Sync)) {
        thread::scope(|scope| {
            for lane in 0..self.0 {
                scope.spawn(move || share(parts, self.0, lane).for_each(|part| work(lane, part)));
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 64 }))]

    #[test]
    fn every_part_is_done_once_with_its_own_chunk_and_its_lanes_state(lanes in 1usize..5, parts in 0usize..20) {
        let workers = Threads(lanes);
        let workers: &dyn Workers = &workers;
        let mut done = vec![Vec::new(); lanes];
        workers.run(parts, &mut done, |state, part| state.push(part));
        prop_assert_eq!(done.concat(), (0..parts).collect::<Vec<_>>());
        let mut buffer = vec![0; parts * 3];
        let mut counts = vec![0; lanes];
        workers.run_chunks(&mut buffer, 3, &mut counts, |count, part, chunk| {
            *count += 1;
            chunk.iter_mut().for_each(|byte| *byte += part as u8 + 1);
        });
        let expected: Vec<u8> = (0..parts as u8).flat_map(|part| [part + 1; 3]).collect();
        prop_assert_eq!(buffer, expected);
        prop_assert_eq!(counts.iter().sum::<usize>(), parts);
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
    }
}

#[test]
#[should_panic = "each lane needs its own state"]
fn a_lane_without_a_state_is_refused() {
    let workers: &dyn Workers = &Threads(2);
    workers.run(1, &mut [0], |state, _| *state += 1);
}
