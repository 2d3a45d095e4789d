//! The schemes of the suite, a test for each.

use super::Scheme;
use super::tampering::{DUPLICATE, ENTRY, TAMPERINGS, Tree};
use crate::model::setup::*;
use crate::model::{curious, freecursive, opam, paging};
use crate::{circuit, parallel, raw, ring};
use ameles_core::position_map::recursive::RecursiveParameters;
use ameles_core::schemes::circuit::CircuitOram;
use ameles_core::schemes::path::PathOram;
use ameles_core::schemes::raw::RawOram;
use ameles_core::schemes::ring::RingOram;
use ameles_core::schemes::trivial::{TrivialOram, TrivialParameters};
use ameles_core::tree::block_header::HEADER_BYTES;
use ameles_core::types::Bucket;
use proptest::prelude::*;
use std::fmt::Debug;

/// Draws a recursive map for drawn parameters.
fn with_map<P: Clone + Debug + 'static>(
    parameters: impl Strategy<Value = P> + 'static,
    capacity: fn(&P) -> u64,
) -> BoxedStrategy<(P, RecursiveParameters)> {
    parameters.prop_flat_map(move |p| (Just(p.clone()), small_map(capacity(&p)))).boxed()
}

#[test]
fn path_oram_conforms() {
    let scheme = Scheme {
        parameters: small_path().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: flat_path,
    };
    scheme.conforms();
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
    let scheme = Scheme {
        parameters: small_buckets().boxed(),
        capacity: |b| b.parameters().capacity,
        layout: |b| b.layout(),
        build: |buckets, store, seed| {
            let positions = flat_map(buckets.parameters().capacity);
            PathOram::with_buckets(buckets, Bucket(0), store, positions, rng(seed))
        },
    };
    scheme.conforms();
}

#[test]
fn path_oram_with_a_recursive_map_conforms() {
    let scheme = Scheme {
        parameters: with_map(small_path(), |p| p.capacity),
        capacity: |(p, _)| p.capacity,
        layout: |(p, map)| with_map_layout(p.layout(), map),
        build: |(p, map), store, seed| recursive_path((p, map), store, seed),
    };
    scheme.conforms();
}

#[test]
fn root_oram_conforms() {
    let scheme = Scheme {
        parameters: small_root().boxed(),
        capacity: |p| p.path.capacity,
        layout: |p| p.path.layout(),
        build: root,
    };
    scheme.conforms();
}

#[test]
fn ring_oram_conforms() {
    let scheme = Scheme {
        parameters: ring::setup::small().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: ring::setup::flat_ring,
    };
    scheme.conforms();
    scheme.conforms_with_snapshots(|ring| ring.parameters());
    scheme.conforms_with_changes();
}

#[test]
fn ring_oram_with_a_recursive_map_conforms() {
    let scheme = Scheme {
        parameters: with_map(small_ring(), |p| p.capacity),
        capacity: |(p, _)| p.capacity,
        layout: |(p, map)| with_map_layout(p.layout(), map),
        build: |(p, map), store, seed| {
            let (positions, random) = map_behind(p.layout(), map, &store, seed);
            RingOram::new(p.clone(), store, positions, random).unwrap()
        },
    };
    scheme.conforms();
}

#[test]
fn circuit_oram_conforms() {
    use circuit::setup::{flat_circuit, parameters, small};
    let scheme = Scheme {
        parameters: small().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: flat_circuit,
    };
    scheme.conforms();
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
    let scheme = Scheme {
        parameters: with_map(circuit::setup::small(), |p| p.capacity),
        capacity: |(p, _)| p.capacity,
        layout: |(p, map)| with_map_layout(p.layout(), map),
        build: |(p, map), store, seed| {
            let (positions, random) = map_behind(p.layout(), map, &store, seed);
            CircuitOram::new(p.clone(), store, positions, random).unwrap()
        },
    };
    scheme.conforms();
}

#[test]
fn raw_oram_conforms() {
    use raw::setup::{flat_raw, headers, parameters, small};
    let scheme = Scheme {
        parameters: small().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: flat_raw,
    };
    scheme.conforms();
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
    let scheme = Scheme {
        parameters: with_map(raw::setup::small(), |p| p.capacity),
        capacity: |(p, _)| p.capacity,
        layout: |(p, map)| with_map_layout(p.layout(), map),
        build: |(p, map), store, seed| {
            let (positions, random) = map_behind(p.layout(), map, &store, seed);
            RawOram::new(p.clone(), Bucket(0), store, positions, random).unwrap()
        },
    };
    scheme.conforms();
}

#[test]
fn parallel_oram_conforms() {
    use parallel::setup::{flat_parallel, parameters, small};
    let scheme = Scheme {
        parameters: small().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: flat_parallel,
    };
    scheme.conforms();
    let tree = |levels, trusted| {
        let parameters = parameters(2, levels, trusted);
        Tree { headers: parameters.layout(), parameters, entry: ENTRY }
    };
    scheme.finds_tampering(&tree(6, 2), &TAMPERINGS);
    scheme.survives_any_bytes_in_the_store(&tree(3, 1));
}

#[test]
fn freecursive_oram_conforms() {
    let scheme = Scheme {
        parameters: freecursive::small().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.tree.layout(),
        build: freecursive::oram,
    };
    scheme.conforms();
}

#[test]
fn trivial_oram_conforms() {
    let small = (1u64..40, 0u32..10, 1u32..50).prop_map(|(capacity, block_bytes, chunk_blocks)| {
        TrivialParameters { capacity, block_bytes, chunk_blocks, max_batch: MAX_BATCH }
    });
    let scheme = Scheme {
        parameters: small.boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: |p, store, _| TrivialOram::new(p.clone(), Bucket(0), store).unwrap(),
    };
    scheme.conforms();
    scheme.conforms_with_snapshots(|oram| oram.parameters());
    scheme.conforms_with_changes();
}

#[test]
fn square_root_oram_conforms() {
    let scheme = Scheme {
        parameters: small_square_root().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: square_root,
    };
    scheme.conforms();
}

#[test]
fn practical_os_conforms() {
    let scheme = Scheme {
        parameters: small_practical_os().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: practical_os,
    };
    scheme.conforms();
}

#[test]
fn hierarchical_oram_conforms() {
    let scheme = Scheme {
        parameters: small_hierarchical().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: hierarchical,
    };
    scheme.conforms();
}

#[test]
fn curious_conforms() {
    let scheme = Scheme {
        parameters: small_curious().boxed(),
        capacity: |p| p.partitions.capacity,
        layout: |p| p.layout(),
        build: curious_oram,
    };
    scheme.conforms();
}

#[test]
fn curious_with_a_log_conforms() {
    let scheme = Scheme {
        parameters: (small_curious(), 1u64..20).boxed(),
        capacity: |(p, _)| p.partitions.capacity,
        layout: |(p, slots)| curious::logged_layout(p, *slots),
        build: |(p, slots), store, seed| curious::logged(p, store, *slots, seed),
    };
    scheme.conforms();
}

#[test]
fn oblivistore_conforms() {
    let scheme = Scheme {
        parameters: small_oblivistore().boxed(),
        capacity: |p| p.partitions.capacity,
        layout: |p| p.layout(),
        build: oblivistore_oram,
    };
    scheme.conforms();
}

#[test]
fn opam_conforms() {
    let scheme = Scheme {
        parameters: opam::small().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: opam::opam,
    };
    scheme.conforms();
}

#[test]
fn detworam_conforms() {
    let scheme = Scheme {
        parameters: paging::small_areas().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: |p, store, _| paging::detworam(p, store),
    };
    scheme.conforms();
}

#[test]
fn eager_detworam_conforms() {
    let scheme = Scheme {
        parameters: paging::small_eager().boxed(),
        capacity: |p| p.areas.capacity,
        layout: |p| p.layout(),
        build: |p, store, _| paging::eager(p, store),
    };
    scheme.conforms();
}

/// It keeps no state that a failure could tear.
#[test]
fn plain_paging_conforms() {
    let scheme = Scheme {
        parameters: paging::small_plain().boxed(),
        capacity: |p| p.capacity,
        layout: |p| p.layout(),
        build: |p, store, _| paging::plain(p, store),
    };
    scheme.conforms_without_state();
}
