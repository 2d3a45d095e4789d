//! The rounds of a parallel ORAM.

use super::setup::*;
use ameles_core::oram::Oram;
use ameles_core::testing::{ArrayModel, Operation, TraceStore, finish_now, settle};
use ameles_core::types::BlockId;

#[test]
fn a_round_takes_effect_in_the_order_of_processors() {
    use Operation::{Read, Write};
    let parameters = parameters(8, 1, 0);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_parallel(&parameters, &store, 1);
    let mut model = ArrayModel::new(parameters.capacity, 5);
    let (one, other) = (BlockId(3), BlockId(9));
    let rounds = [
        vec![Read(one), Write(one, 1), Read(other), Read(one), Write(one, 2), Read(one), Write(other, 3)],
        vec![
            Write(other, 4),
            Read(one),
            Read(other),
            Write(one, 5),
            Write(one, 6),
            Operation::Dummy,
            Read(one),
        ],
        vec![Read(other), Read(one), Read(one)],
    ];
    for round in rounds {
        finish_now(async {
            model.batch(&oram, &round).await;
            settle(&oram).await;
        });
    }
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
