//! The schemes of the suite, a test for each.

use super::Scheme;
use super::parameters::SchemeParameters;
use super::tampering::{DUPLICATE, ENTRY, TAMPERINGS, Tree};
use crate::model::setup::*;
use crate::model::{curious, freecursive, opam, paging};
use crate::{circuit, parallel, raw, ring};
use ameles_core::position_map::recursive::RecursiveParameters;
use ameles_core::schemes::circuit::{CircuitOram, CircuitParameters};
use ameles_core::schemes::path::{BucketsByLevel, PathOram};
use ameles_core::schemes::raw::{RawOram, RawParameters};
use ameles_core::schemes::ring::{RingOram, RingParameters};
use ameles_core::schemes::trivial::{TrivialOram, TrivialParameters};
use ameles_core::tree::block_header::HEADER_BYTES;
use ameles_core::types::Bucket;
use proptest::prelude::*;

/// Draws a recursive map for drawn parameters.
fn with_map<P: SchemeParameters>(
    parameters: impl Strategy<Value = P> + 'static,
) -> impl Strategy<Value = (P, RecursiveParameters)> {
    parameters.prop_flat_map(|p| (Just(p.clone()), small_map(p.capacity())))
}

/// Tests a scheme over a recursive map, from its parameters and the way to build it.
macro_rules! conforms_with_map {
    ($small:expr, |$p:ident: $parameters:ty, $store:ident, $positions:ident, $random:ident| $oram:expr) => {
        let build = |(p, map): &($parameters, RecursiveParameters), $store, seed| {
            let ($positions, $random) = map_behind(p.layout(), map, &$store, seed);
            let $p = p.clone();
            $oram.unwrap()
        };
        Scheme::of(with_map($small), build).conforms();
    };
}

/// Makes a test for each of these schemes. A scheme is given by its parameters and the way to build it.
macro_rules! conforms {
    ($($name:ident: $parameters:expr, $build:expr;)*) => {
        $(#[test]
        fn $name() {
            Scheme::of($parameters, $build).conforms();
        })*
    };
}
conforms! {
    root_oram_conforms: small_root(), root;
    freecursive_oram_conforms: freecursive::small(), freecursive::oram;
    square_root_oram_conforms: small_square_root(), square_root;
    practical_os_conforms: small_practical_os(), practical_os;
    hierarchical_oram_conforms: small_hierarchical(), hierarchical;
    curious_conforms: small_curious(), curious_oram;
    oblivistore_conforms: small_oblivistore(), oblivistore_oram;
    opam_conforms: opam::small(), opam::opam;
    detworam_conforms: paging::small_areas(), |p, store, _| paging::detworam(p, store);
    eager_detworam_conforms: paging::small_eager(), |p, store, _| paging::eager(p, store);
}

#[test]
fn path_oram_conforms() {
    let scheme = Scheme::of(small_path(), flat_path);
    scheme.conforms_with_snapshots(PathOram::parameters);
    scheme.conforms_with_changes();
    let tree = |leaf_level, top| {
        let parameters = full_path(leaf_level, top);
        Tree { headers: parameters.layout(), parameters, entry: ENTRY }
    };
    scheme.finds_tampering(&tree(6, 2), &[&TAMPERINGS[..], &[DUPLICATE]].concat());
    scheme.survives_any_bytes_in_the_store(&tree(4, 1));
}

#[test]
fn path_oram_with_buckets_by_level_conforms() {
    let build = |buckets: &BucketsByLevel, store, seed| {
        PathOram::with_buckets(buckets, Bucket(0), store, flat_map(buckets.capacity()), rng(seed))
    };
    Scheme::of(small_buckets(), build).conforms();
}

#[test]
fn path_oram_with_a_recursive_map_conforms() {
    Scheme::of(with_map(small_path()), |(p, map), store, seed| recursive_path((p, map), store, seed))
        .conforms();
}

#[test]
fn ring_oram_conforms() {
    let scheme = Scheme::of(ring::setup::small(), ring::setup::flat_ring);
    scheme.conforms_with_snapshots(|ring| ring.parameters());
    scheme.conforms_with_changes();
}

#[test]
fn ring_oram_with_a_recursive_map_conforms() {
    conforms_with_map!(small_ring(), |p: RingParameters, store, positions, random| {
        RingOram::new(p, store, positions, random)
    });
}

#[test]
fn circuit_oram_conforms() {
    use circuit::setup::{flat_circuit, parameters, small};
    let scheme = Scheme::of(small(), flat_circuit);
    scheme.conforms_with_snapshots(|oram| oram.parameters());
    let tree = |leaf_level, top| {
        let parameters = parameters(leaf_level, top);
        Tree { headers: parameters.layout(), parameters, entry: ENTRY }
    };
    scheme.finds_tampering(&tree(6, 2), &TAMPERINGS);
    scheme.survives_any_bytes_in_the_store(&tree(4, 1));
}

#[test]
fn circuit_oram_with_a_recursive_map_conforms() {
    conforms_with_map!(circuit::setup::small(), |p: CircuitParameters, store, positions, random| {
        CircuitOram::new(p, store, positions, random)
    });
}

#[test]
fn raw_oram_conforms() {
    use raw::setup::{flat_raw, headers, parameters, small};
    let scheme = Scheme::of(small(), flat_raw);
    scheme.conforms_with_snapshots(|oram| oram.parameters());
    scheme.conforms_with_changes();
    let tree = |leaf_level, top| {
        let parameters = parameters(leaf_level, top);
        Tree { headers: headers(&parameters), parameters, entry: HEADER_BYTES }
    };
    scheme.finds_tampering(&tree(6, 2), &TAMPERINGS);
    scheme.survives_any_bytes_in_the_store(&tree(4, 1));
}

#[test]
fn raw_oram_with_a_recursive_map_conforms() {
    conforms_with_map!(raw::setup::small(), |p: RawParameters, store, positions, random| {
        RawOram::new(p, Bucket(0), store, positions, random)
    });
}

#[test]
fn parallel_oram_conforms() {
    use parallel::setup::{flat_parallel, parameters, small};
    let scheme = Scheme::of(small(), flat_parallel);
    scheme.conforms();
    let tree = |levels, trusted| {
        let parameters = parameters(2, levels, trusted);
        Tree { headers: parameters.layout(), parameters, entry: ENTRY }
    };
    scheme.finds_tampering(&tree(6, 2), &TAMPERINGS);
    scheme.survives_any_bytes_in_the_store(&tree(3, 1));
}

#[test]
fn trivial_oram_conforms() {
    let small = (1u64..40, 0u32..10, 1u32..50).prop_map(|(capacity, block_bytes, chunk_blocks)| {
        TrivialParameters { capacity, block_bytes, chunk_blocks, max_batch: MAX_BATCH }
    });
    let scheme = Scheme::of(small, |p, store, _| TrivialOram::new(p.clone(), Bucket(0), store).unwrap());
    scheme.conforms_with_snapshots(|oram| oram.parameters());
    scheme.conforms_with_changes();
}

#[test]
fn curious_with_a_log_conforms() {
    let parameters = (small_curious(), 1u64..20);
    Scheme::of(parameters, |(p, slots), store, seed| curious::logged(p, store, *slots, seed)).conforms();
}

/// Plain paging keeps no state that a failure could tear.
#[test]
fn plain_paging_conforms() {
    Scheme::of(paging::small_plain(), |p, store, _| paging::plain(p, store)).conforms_without_state();
}
