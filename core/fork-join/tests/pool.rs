//! Tests of a pool, also under Miri (`cargo +nightly miri test -p ameles-fork-join`).

use ameles_fork_join::{Pool, Workers};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const SPIN_TIME: Duration = Duration::from_micros(50);
const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };

/// The pool as its callers use it.
fn shared(pool: &Pool) -> &dyn Workers {
    pool
}

fn pool(lanes: usize, spin_time: Duration) -> Pool {
    Pool::new(lanes, spin_time).expect("threads")
}

/// The number of times that each part was done.
fn count(pool: &Pool, parts: usize) -> Vec<usize> {
    let counts: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
    shared(pool).run(parts, &mut vec![(); pool.lanes()], |(), part| {
        counts[part].fetch_add(1, Ordering::Relaxed);
    });
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

#[test]
fn every_part_is_done_once_whether_the_threads_are_awake_asleep_or_in_between() {
    for lanes in 1..=4 {
        for spin_time in [Duration::ZERO, Duration::from_micros(1), SPIN_TIME] {
            let pool = pool(lanes, spin_time);
            for round in 0..ROUNDS / 20 {
                let parts = round % 19;
                assert_eq!(count(&pool, parts), vec![1; parts]);
                if round % 64 == 3 {
                    thread::sleep(Duration::from_micros(200));
                    pool.wake();
                }
            }
        }
    }
}

#[test]
fn a_chunk_and_a_lanes_state_are_used_by_one_thread_at_a_time() {
    let pool = pool(3, SPIN_TIME);
    let mut buffer = vec![0u8; 7 * 64];
    let mut states = vec![0u64; 3];
    for _ in 0..ROUNDS {
        // Neither is atomic: a race would lose an increment, and Miri would report it.
        shared(&pool).run_chunks(&mut buffer, 64, &mut states, |state, part, chunk| {
            *state += 1;
            chunk.iter_mut().for_each(|byte| *byte = byte.wrapping_add(part as u8));
        });
    }
    assert_eq!(states.iter().sum::<u64>(), 7 * ROUNDS as u64);
    for (part, chunk) in buffer.chunks(64).enumerate() {
        assert_eq!(chunk, [(part * ROUNDS) as u8; 64]);
    }
}

#[test]
fn what_was_written_before_is_seen_by_the_parts_and_what_they_wrote_is_seen_after() {
    let pool = pool(2, SPIN_TIME);
    let mut values = [0usize; 8];
    for round in 1..=ROUNDS {
        let before = values;
        let mut bytes = [0u8; 8 * 8];
        shared(&pool).run_chunks(&mut bytes, 8, &mut [(); 2], |(), part, chunk| {
            chunk.copy_from_slice(&(before[part] + part).to_le_bytes());
        });
        for (part, chunk) in bytes.chunks(8).enumerate() {
            values[part] = usize::from_le_bytes(chunk.try_into().expect("8 bytes"));
            assert_eq!(values[part], round * part);
        }
    }
}

#[test]
fn several_callers_and_a_call_from_within_all_get_their_work_done() {
    let pool = pool(2, SPIN_TIME);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..ROUNDS / 20 {
                    assert_eq!(count(&pool, 5), [1; 5]);
                }
            });
        }
    });
    let inner = AtomicUsize::new(0);
    shared(&pool).run(4, &mut [(); 2], |(), _| {
        inner.fetch_add(count(&pool, 3).iter().sum(), Ordering::Relaxed);
    });
    assert_eq!(inner.into_inner(), 12);
}

#[test]
fn a_panicking_part_panics_the_caller_after_the_others_are_done_and_the_pool_goes_on() {
    for lanes in 1..=3 {
        let pool = pool(lanes, SPIN_TIME);
        for bad in 0..6 {
            let done = AtomicUsize::new(0);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                shared(&pool).run(6, &mut vec![(); lanes], |(), part| {
                    if part == bad {
                        std::panic::resume_unwind(Box::new("bad"));
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }));
            assert!(outcome.is_err());
            if lanes > 1 {
                assert_eq!(done.into_inner(), 5);
            }
            assert_eq!(count(&pool, 6), [1; 6]);
        }
    }
}

#[test]
fn the_other_threads_take_a_share() {
    let pool = pool(2, Duration::from_millis(5));
    let mut shares = [0usize; 2];
    // On a busy machine the other thread runs late. The test hangs only if it never runs.
    while shares[1] == 0 {
        shared(&pool).run(2, &mut shares, |share, _| {
            *share += 1;
            thread::sleep(Duration::from_micros(20));
        });
    }
}

#[test]
#[should_panic(expected = "each lane needs its own state")]
fn too_few_states_are_refused() {
    shared(&pool(2, SPIN_TIME)).run(2, &mut [()], |(), _| {});
}

#[test]
#[should_panic(expected = "whole number of chunks")]
fn a_part_of_a_chunk_is_refused() {
    shared(&pool(1, SPIN_TIME)).run_chunks(&mut [0; 9], 4, &mut [()], |(), _, _| {});
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 64 }, failure_persistence: None, ..Default::default() })]
    #[test]
    fn any_number_of_parts_on_any_number_of_lanes(
        lanes in 1usize..6,
        jobs in proptest::collection::vec(0usize..100, 1..8),
        spin_time in 0u64..40,
    ) {
        let pool = pool(lanes, Duration::from_micros(spin_time));
        for parts in jobs {
            prop_assert_eq!(count(&pool, parts), vec![1; parts]);
        }
    }
}
