//! A parallel ORAM answers like an array, in whatever order stores and network get done.

use super::setup::*;
use crate::model::setup::{Action, assert_replays, batches, drive, schedule};
use ameles_core::testing::{ArrayModel, Operation, TraceStore, exercise, finish_now, settle};
use ameles_core::types::BlockId;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_parallel_oram_answers_like_an_array(
        (parameters, batches) in small().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
        eager: bool,
    ) {
        let store = TraceStore::new(parameters.layout());
        let rounds: Vec<Vec<Operation>> =
            batches.iter().flat_map(|batch| rounds(batch, parameters.processors)).collect();
        exercise(&flat_parallel(&parameters, &store, seed), &rounds, eager);
    }

    #[test]
    fn a_parallel_oram_answers_like_an_array_in_whatever_order_the_stores_finish(
        (parameters, steps) in small().prop_flat_map(|p| (Just(p.clone()), schedule(p.capacity))),
        seed: u64,
    ) {
        let steps: Vec<Action> = steps
            .iter()
            .map(|step| match step {
                Action::Access(batch) => {
                    Action::Access(batch.iter().copied().take(parameters.processors as usize).collect())
                }
                other => other.clone(),
            })
            .collect();
        assert_replays(&parameters.layout(), |store| {
            drive(&flat_parallel(&parameters, store, seed), store, &steps);
        });
    }
}

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
