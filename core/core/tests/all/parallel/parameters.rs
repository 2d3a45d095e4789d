//! The parameters of a parallel ORAM: planned ones are valid, and refused ones are named.

use super::setup::parameters;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::parallel::{
    ParallelOram, ParallelParameters, ParallelParametersError, routing_overflow_log2,
};
use ameles_core::testing::parameters::check_refusals;
use ameles_core::testing::{TraceStore, processor_stores};
use ameles_core::types::Level;

#[test]
fn messages_are_too_short_less_than_once_in_2_to_the_80_rounds_for_every_number_of_processors() {
    for bits in 0..=10 {
        let processors = 1 << bits;
        assert_eq!(
            ParallelParameters { stash_bound: 2000, ..parameters(processors, 0, 0) }.validate(),
            Ok(())
        );
        let exponent = routing_overflow_log2(processors);
        assert!(exponent < -80.0, "{processors} processors: 2^{exponent}");
        assert!(bits > 4 || exponent == f64::NEG_INFINITY, "{processors} processors: 2^{exponent}");
    }
    assert!(parameters(2048, 0, 0).validate().is_err(), "more are not accepted");
}

#[test]
fn planned_parameters_are_valid_at_every_size() {
    for capacity in (1..70).chain([1000, 4096, 100_000, 1 << 28, u64::from(u32::MAX)]) {
        for processors in (0..=10).map(|bits| 1 << bits) {
            for trusted in [0, capacity / 32, capacity / 4] {
                let planned = ParallelParameters::for_capacity(capacity, 64, processors, trusted).unwrap();
                assert_eq!(planned.validate(), Ok(()), "{planned:?}");
            }
        }
    }
}

#[test]
fn subtrees_lie_side_by_side() {
    let parameters = parameters(4, 3, 1);
    let firsts: Vec<u64> =
        (0..4).map(|nth| parameters.subtree(ameles_core::network::Processor(nth)).first_bucket().0).collect();
    assert_eq!(firsts, [0, 14, 28, 42]);
    assert_eq!(parameters.layout().buckets(), 4 * 14);
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    check_refusals(
        &parameters(8, 3, 1),
        ParallelParameters::validate,
        &[
            ("processors is 0", |p| p.processors = 0),
            ("processors is 1025", |p| p.processors = 1025),
            ("6 processors are not a power of two", |p| p.processors = 6),
            ("leaf_level is 2", |p| p.leaf_level = Level(2)),
            ("leaf_level is 32", |p| p.leaf_level = Level(32)),
            ("top is 2", |p| p.top = Level(2)),
            ("top is", |p| p.top = Level(p.leaf_level.0 + 1)),
            ("blocks_per_bucket is 1", |p| p.blocks_per_bucket = 1),
            ("block_bytes is 16777217", |p| p.block_bytes = (1 << 24) + 1),
            ("capacity is 0", |p| p.capacity = 0),
            ("stash_bound is 7", |p| p.stash_bound = 7),
            ("a tree for 128 blocks is too small for 129", |p| p.capacity = 129),
        ],
    );
    assert!(ParallelParameters::for_capacity(64, 1, 3, 0).is_err());
    assert!(ParallelParameters::for_capacity(u64::MAX, 1, 4, 0).is_err());
}

#[test]
fn a_store_for_each_processor_is_asked_for() {
    let parameters = parameters(4, 1, 0);
    let store = TraceStore::new(parameters.layout());
    let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
    let stores = processor_stores(&store, 3);
    let refused = ParallelOram::new(parameters, stores, &store, positions, super::setup::rng(1)).err();
    assert_eq!(refused, Some(ParallelParametersError::Stores { stores: 3, processors: 4 }));
}
