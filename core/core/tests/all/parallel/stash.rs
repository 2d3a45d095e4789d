//! The stashes of all processors on their worst case, a full memory that is read in a scan.

use super::setup::rng;
use ameles_core::network::SharedMemory;
use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::circuit::CircuitParameters;
use ameles_core::schemes::parallel::{ParallelOram, ParallelParameters};
use ameles_core::testing::{ArrayStore, finish_now};
use ameles_core::types::BlockId;

/// The blocks that all processors hold after the evictions of each round, on average and at most, and the emergencies.
fn waiting(parameters: &ParallelParameters, rounds: u64) -> (f64, usize, u64) {
    let store = ArrayStore::new(&parameters.layout());
    let stores: Vec<&ArrayStore> = (0..parameters.processors).map(|_| &store).collect();
    let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
    let oram = ParallelOram::new(parameters.clone(), stores, SharedMemory::new(), positions, rng(1)).unwrap();
    let (m, n) = (u64::from(parameters.processors), parameters.capacity);
    let (mut all, mut max) = (0, 0);
    let warm = 4 * n / m;
    for round in 0..warm + rounds {
        let mut nothing = vec![[0; 0]; m as usize];
        let mut batch: Vec<Access<'_>> =
            (round * m..).zip(&mut nothing).map(|(at, into)| Access::Read(BlockId(at % n), into)).collect();
        finish_now(oram.access(&mut batch)).unwrap();
        while oram.pending_steps() > 0 {
            assert!(oram.emergencies() < 1000 * rounds, "idle makes no room");
            finish_now(oram.step()).unwrap();
        }
        if round >= warm {
            let held: usize = oram.stash_blocks().iter().sum();
            (all, max) = (all + held, max.max(held));
        }
    }
    (all as f64 / rounds as f64, max, oram.emergencies())
}

#[test]
fn as_many_blocks_wait_with_all_processors_as_in_circuit_oram_with_batches_of_as_many() {
    for (processors, trusted) in [(4, 0), (16, 0), (16, 64)] {
        let parameters = ParallelParameters::for_capacity(4096, 0, processors, trusted).unwrap();
        let (mean, max, emergencies) = waiting(&parameters, 2000);
        let subtrees = f64::from(1 << parameters.top.0);
        assert!(mean < 0.8 * subtrees, "{mean:.2} wait for {subtrees} subtrees");
        let circuit = CircuitParameters {
            capacity: 4096,
            block_bytes: 0,
            leaf_level: parameters.leaf_level,
            top: parameters.top,
            blocks_per_bucket: 2,
            max_batch: processors,
            stash_bound: parameters.stash_bound,
        };
        assert!(max < circuit.waiting_bound() as usize && emergencies == 0, "{max}, {emergencies}");
    }
}

#[test]
fn a_processor_that_lacks_room_makes_some() {
    // The schedule alone does not keep so low a bound.
    let planned = ParallelParameters::for_capacity(256, 0, 4, 0).unwrap();
    let (_, _, emergencies) = waiting(&ParallelParameters { stash_bound: 5, ..planned }, 3000);
    assert!(emergencies > 0);
}
