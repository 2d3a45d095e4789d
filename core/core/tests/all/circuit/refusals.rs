//! The refusals of Circuit ORAM, the lies that it finds out, and its silence after a failure.

use super::setup::*;
use crate::model::setup::assert_refuses_up_front;
use crate::snapshots::write_all;
use crate::tampering::{ENTRY, TAMPERINGS, fill_with_junk, tamper};
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::schemes::circuit::CircuitSnapshotError;
use ameles_core::snapshot::full::FullSnapshot;
use ameles_core::testing::{ArrayModel, Executor, TraceStore, finish_now};
use ameles_core::types::BlockId;
use proptest::prelude::*;

#[test]
fn what_is_refused_shows_nothing_and_leaves_no_mark() {
    let parameters = parameters(3, 0);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_circuit(&parameters, &store, 1);
    assert_refuses_up_front(&oram, &store);
    for _ in 0..6 {
        finish_now(oram.access(&mut [Access::Dummy])).unwrap();
    }
    store.take_trace();
    assert!(oram.must_step());
    assert!(matches!(finish_now(oram.access(&mut [Access::Dummy])), Err(OramError::Backlogged)));
    assert_eq!(store.take_trace(), []);
    finish_now(oram.step()).unwrap();
    assert_eq!((oram.pending_steps(), oram.must_step()), (0, false));
}

#[test]
fn nothing_is_answered_after_the_store_failed() {
    let parameters = parameters(3, 0);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_circuit(&parameters, &store, 1);
    store.hold_back(true);
    let mut executor = Executor::new();
    executor.spawn(async {
        let error = oram.access(&mut [Access::Write(BlockId(1), &[1; 5])]).await.unwrap_err();
        assert!(matches!(error, OramError::Store(_)));
    });
    executor.spawn(async {
        let error = oram.access(&mut [Access::Read(BlockId(1), &mut [0; 5])]).await.unwrap_err();
        assert!(matches!(error, OramError::Poisoned));
    });
    executor.run();
    store.fail(0);
    executor.run();
    assert_eq!(executor.unfinished(), 0);
    assert!(matches!(finish_now(oram.step()), Err(OramError::Poisoned)));
    assert!(matches!(oram.snapshot(), Err(CircuitSnapshotError::Poisoned)));
}

#[test]
fn nothing_is_answered_after_an_operation_was_dropped_half_way() {
    for interrupts_step in [false, true] {
        let parameters = parameters(3, 0);
        let store = TraceStore::new(parameters.layout());
        let oram = flat_circuit(&parameters, &store, 1);
        finish_now(oram.access(&mut [Access::Dummy])).unwrap();
        store.hold_back(true);
        {
            let mut executor = Executor::new();
            executor.spawn(async {
                if interrupts_step {
                    oram.step().await.unwrap()
                } else {
                    oram.access(&mut [Access::Dummy]).await.unwrap()
                }
            });
            executor.run();
            assert!(matches!(oram.snapshot(), Err(CircuitSnapshotError::InFlight)));
        }
        store.hold_back(false);
        assert!(matches!(finish_now(oram.access(&mut [Access::Dummy])), Err(OramError::Poisoned)));
    }
}

#[test]
fn a_store_that_lies_is_found_out() {
    for (expected, tampering) in TAMPERINGS {
        let parameters = parameters(6, 2);
        let store = TraceStore::new(parameters.layout());
        let oram = flat_circuit(&parameters, &store, 1);
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
    fn no_bytes_in_the_store_make_circuit_oram_panic(
        junk in prop::collection::vec(prop::collection::vec(any::<u8>(), 42), 1..8),
        small_headers: bool,
        seed: u64,
    ) {
        let parameters = parameters(4, 1);
        let store = TraceStore::new(parameters.layout());
        let oram = flat_circuit(&parameters, &store, seed);
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
