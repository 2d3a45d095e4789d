//! Tests of the recursive position map beyond right answers.

use super::setup::*;
use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::recursive::{RecursiveMapError, RecursiveParameters, RecursivePositionMap};
use ameles_core::position_map::{Lookup, PositionMap};
use ameles_core::schemes::path::PathParameters;
use ameles_core::testing::{TraceStore, finish_now, settle};
use ameles_core::types::{BlockId, Bucket, Leaf};

const MAP: RecursiveParameters = RecursiveParameters {
    blocks: 1 << 14,
    entries_per_block: 16,
    flat_limit: 64,
    trusted_blocks: 32,
    max_batch: 1,
};

#[test]
fn it_keeps_less_on_the_trusted_side_than_a_flat_map() {
    let parameters = PathParameters::for_capacity(MAP.blocks, 0, 64, 1).unwrap();
    let levels: Vec<u64> = MAP.levels().unwrap().iter().map(|level| level.capacity).collect();
    assert_eq!(levels, [1024, 64]);
    let store = TraceStore::new(with_map_layout(parameters.layout(), &MAP));
    store.record(false);
    let oram = recursive_path((&parameters, &MAP), &store, 1);
    for block in 0..oram.capacity() {
        finish_now(oram.access(&mut [Access::Write(BlockId(block), &[])])).unwrap();
        finish_now(settle(&oram));
    }
    assert!(oram.trusted_bytes() < 4 * (1 << 14) / 2, "{} bytes", oram.trusted_bytes());
}

#[test]
fn it_remembers_for_a_scheme_that_never_calls_its_idle() {
    let parameters = RecursiveParameters { blocks: 64, entries_per_block: 2, flat_limit: 4, ..MAP };
    let store = TraceStore::new(parameters.layout().unwrap());
    let map = RecursivePositionMap::new(&parameters, Bucket(0), &store, &mut rng(1)).unwrap();
    let mut expected = [None; 64];
    for nth in 0..1000 {
        let block = nth * 7 % 64;
        let mut lookup = [Lookup { block: Some(BlockId(block)), new: Leaf(nth), old: None }];
        finish_now(map.remap(&mut lookup)).unwrap();
        assert_eq!(lookup[0].old, expected[block as usize].replace(Leaf(nth)));
    }
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let refused = |parameters: RecursiveParameters| parameters.levels().unwrap_err();
    let one = RecursiveParameters { entries_per_block: 1, ..MAP };
    assert!(matches!(refused(one), RecursiveMapError::EntriesPerBlock(1)));
    assert!(matches!(refused(RecursiveParameters { flat_limit: 0, ..MAP }), RecursiveMapError::FlatLimit));
    assert!(matches!(refused(RecursiveParameters { max_batch: 0, ..MAP }), RecursiveMapError::Inner(_)));
}

#[test]
fn a_snapshot_of_other_parameters_is_refused() {
    let store = TraceStore::new(MAP.layout().unwrap());
    let map = RecursivePositionMap::new(&MAP, Bucket(0), &store, &mut rng(1)).unwrap();
    let snapshot = map.snapshot().unwrap();
    for other in
        [RecursiveParameters { flat_limit: 1 << 14, ..MAP }, RecursiveParameters { blocks: 1 << 13, ..MAP }]
    {
        let refused = RecursivePositionMap::restore(&other, Bucket(0), &store, &mut rng(1), &snapshot).err();
        assert!(matches!(refused, Some(RecursiveMapError::Mismatch)));
    }
}
