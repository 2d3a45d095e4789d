//! The refusals of a parallel ORAM, the lies that it finds out, and its silence after a failure.

use super::setup::*;
use crate::model::setup::{assert_interrupted_step_poisons, assert_refuses_up_front};
use crate::snapshots::write_all;
use crate::tampering::{ENTRY, TAMPERINGS, fill_with_junk, tamper};
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::testing::{ArrayModel, Executor, TraceStore, finish_now};
use ameles_core::types::BlockId;
use proptest::prelude::*;

#[test]
fn what_is_out_of_bounds_is_refused_up_front() {
    let parameters = parameters(4, 2, 0);
    let store = TraceStore::new(parameters.layout());
    assert_refuses_up_front(&flat_parallel(&parameters, &store, 1), &store);
}

#[test]
fn a_round_without_requests_shows_nothing() {
    let parameters = parameters(4, 2, 0);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_parallel(&parameters, &store, 1);
    finish_now(oram.access(&mut [])).unwrap();
    finish_now(oram.step()).unwrap();
    assert_eq!((store.take_actions(), oram.pending_steps()), (vec![], 0));
}

#[test]
fn nothing_is_answered_after_a_step_of_a_round_failed_or_was_dropped_half_way() {
    let parameters = parameters(4, 2, 0);
    let mut steps = 0;
    // Each message and each reading of a round in turn.
    for (at, fails) in (0..).flat_map(|at| [(at, false), (at, true)]) {
        let store = TraceStore::new(parameters.layout());
        let oram = flat_parallel(&parameters, &store, 1);
        store.hold_back(true);
        let mut executor = Executor::new();
        executor.spawn(async {
            let error = oram.access(&mut [Access::Write(BlockId(1), &[1; 5])]).await;
            assert!(error.is_ok() || matches!(error, Err(OramError::Store(_))));
        });
        executor.run();
        for _ in 0..at {
            if store.pending() > 0 {
                store.complete(0);
                executor.run();
            }
        }
        if executor.unfinished() == 0 {
            break;
        }
        if fails {
            store.fail(0);
            executor.run();
            assert_eq!(executor.unfinished(), 0);
        }
        drop(executor);
        store.hold_back(false);
        assert!(matches!(finish_now(oram.access(&mut [Access::Dummy])), Err(OramError::Poisoned)));
        assert!(matches!(finish_now(oram.step()), Err(OramError::Poisoned)));
        steps += 1;
    }
    assert!(steps > 2 * 15, "{steps} steps");
}

#[test]
fn nothing_is_answered_after_evictions_failed_or_were_dropped_half_way() {
    for fails in [false, true] {
        let parameters = parameters(4, 2, 0);
        let store = TraceStore::new(parameters.layout());
        let oram = flat_parallel(&parameters, &store, 1);
        finish_now(oram.access(&mut [Access::Dummy])).unwrap();
        assert_interrupted_step_poisons(&oram, &store, fails);
    }
}

#[test]
fn a_store_that_lies_is_found_out() {
    for (expected, tampering) in TAMPERINGS {
        let parameters = parameters(2, 6, 2);
        let store = TraceStore::new(parameters.layout());
        let oram = flat_parallel(&parameters, &store, 1);
        write_all(&oram, &mut ArrayModel::new(oram.capacity(), oram.block_bytes()));
        tamper(&store, &parameters.layout(), |_, bytes| tampering(bytes, ENTRY));
        let read = |block| {
            finish_now(oram.access(&mut [Access::Read(BlockId(block), &mut [0; 5])]))?;
            finish_now(oram.step())
        };
        match (0..oram.capacity()).find_map(|block| read(block).err()) {
            Some(OramError::Contradiction(found)) => assert_eq!(found, expected),
            other => panic!("{expected}: {other:?}"),
        }
        assert!(matches!(read(0), Err(OramError::Poisoned)));
    }
}

proptest! {
    #[test]
    fn no_bytes_in_the_store_make_a_parallel_oram_panic(
        junk in prop::collection::vec(prop::collection::vec(any::<u8>(), 42), 1..8),
        small_headers: bool,
        seed: u64,
    ) {
        let parameters = parameters(2, 3, 1);
        let store = TraceStore::new(parameters.layout());
        let oram = flat_parallel(&parameters, &store, seed);
        write_all(&oram, &mut ArrayModel::new(oram.capacity(), oram.block_bytes()));
        fill_with_junk(&store, &parameters.layout(), (&junk, ENTRY), small_headers);
        for block in 0..oram.capacity() {
            let outcome = finish_now(oram.access(&mut [Access::Read(BlockId(block), &mut [0; 5])]));
            for outcome in [outcome, finish_now(oram.step())] {
                match outcome {
                    Ok(()) | Err(OramError::Contradiction(_) | OramError::Poisoned) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }
}
