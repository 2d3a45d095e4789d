//! The pager's schemes serve faults inside of an allocator: nothing that they do after construction may allocate.
//! Circuit ORAM allocates nothing once it is warm.

use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::circuit::{CircuitOram, CircuitParameters};
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::schemes::eager::{EagerOram, EagerParameters};
use ameles_core::schemes::plain::{Plain, PlainParameters};
use ameles_core::testing::{ArrayStore, finish_now};
use ameles_core::types::BlockId;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const PAGE_BYTES: usize = 64;

/// Allocations of 500 faults, from the very first on.
fn allocations<O: Oram>(oram: &O, steps_between: u64) -> u64 {
    let pages = oram.capacity();
    let (mut out, mut back) = ([0; PAGE_BYTES], [0; PAGE_BYTES]);
    let measured = allocation_counter::measure(|| {
        for fault in 0..500 {
            out.fill(fault as u8);
            let page = BlockId(fault * 7 % pages);
            let mut batch = [
                Access::Write(page, &out),
                Access::Read(page, &mut back),
                if fault % 5 == 0 { Access::Dummy } else { Access::Write(BlockId(fault % pages), &out) },
            ];
            finish_now(oram.access(&mut batch)).expect("memory does not fail");
            assert_eq!(out, back);
            for _ in 0..steps_between {
                finish_now(oram.step()).expect("memory does not fail");
            }
        }
    });
    measured.count_total
}

#[test]
fn no_access_and_no_step_of_the_pagers_schemes_allocates() {
    for (capacity, holding) in [(100, 33), (100, 100), (100, 1), (1, 1)] {
        let areas = DetWoParameters { capacity, holding, block_bytes: PAGE_BYTES as u32, max_batch: 4 };
        let memory = || ArrayStore::new(&areas.layout());
        let det = DetWoOram::new(areas.clone(), memory()).unwrap();
        assert_eq!(allocations(&det, 1), 0, "DetWoORAM {capacity}/{holding}");
        for (step_pages, steps_between) in [(1, 0), (1, 3), (2, 100), (1000, 2)] {
            let parameters = EagerParameters { areas: areas.clone(), step_pages };
            let eager = EagerOram::new(parameters, memory()).unwrap();
            let name = format!("Eager {capacity}/{holding}, {steps_between} steps of {step_pages}");
            assert_eq!(allocations(&eager, steps_between), 0, "{name}");
        }
        let parameters = PlainParameters { capacity, block_bytes: PAGE_BYTES as u32, max_batch: 4 };
        let memory = ArrayStore::new(&parameters.layout());
        assert_eq!(allocations(&Plain::new(parameters, memory).unwrap(), 0), 0);
    }
}

#[test]
fn a_warm_circuit_oram_allocates_nothing() {
    let parameters = CircuitParameters::for_capacity(256, PAGE_BYTES as u32, 0, 4).unwrap();
    let memory = ArrayStore::new(&parameters.layout());
    let positions = FlatPositionMap::new(Positions::new(256));
    let oram = CircuitOram::new(parameters, memory, positions, ChaCha8Rng::seed_from_u64(1)).unwrap();
    assert!(
        (0..4).map(|_| allocations(&oram, 1)).sum::<u64>() > 0,
        "lists that are used again grow at first"
    );
    assert_eq!(allocations(&oram, 1), 0);
}

#[test]
fn an_allocation_would_be_counted() {
    let measured = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8])));
    assert_eq!(measured.count_total, 1);
}
