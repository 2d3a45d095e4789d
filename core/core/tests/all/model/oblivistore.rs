//! Tests of ObliviStore beyond right answers.

#![allow(clippy::print_stdout, reason = "the figures are there to be looked at")]

use super::setup::*;
use ameles_core::oram::Oram;
use ameles_core::schemes::oblivistore::ObliviStoreParameters;
use ameles_core::testing::oblivious::{Batches, Sequence};
use ameles_core::testing::parameters::check_refusals;
use ameles_core::testing::{ArrayModel, Operation, TraceStore, finish_now};
use std::rc::Rc;

fn parameters() -> ObliviStoreParameters {
    ObliviStoreParameters::for_capacity(400, 5, MAX_BATCH)
}

#[test]
fn costs_are_as_documented() {
    let parameters = parameters();
    let store = TraceStore::new(parameters.layout());
    let oram = oblivistore_oram(&parameters, &store, 1);
    let mut model = ArrayModel::new(400, 5);
    let levels = parameters.partition.levels as usize;
    let (mut read, mut written, mut puts) = (0, 0, 0);
    for nth in 1..=8000 {
        finish_now(model.batch(&oram, &[Operation::Dummy]));
        let trace = store.take_trace();
        let (taken, none) = traffic(&trace);
        assert!(trace.len() == 1 && taken <= levels && none == 0, "{trace:?}");
        while oram.pending_steps() > 0 {
            finish_now(oram.step()).unwrap();
        }
        let (drained, filled) = traffic(&store.take_trace());
        (read, written, puts) = (read + drained, written + filled, nth + nth / 4);
    }
    let mean = |slots: usize| slots as f64 / f64::from(puts);
    println!("{levels} levels: a put reads {:.2} slots and writes {:.2}", mean(read), mean(written));
    assert!((mean(read) / levels as f64 - 1.0).abs() < 0.25);
    assert!((mean(written) / (2 * levels) as f64 - 1.0).abs() < 0.25);
}

#[test]
fn the_partitions_are_those_of_the_code_for_the_sizes_of_the_thesis() {
    // Blocks, partitions, levels, and blocks of the last level, from the code that the thesis ran.
    for (blocks, partitions, levels, last) in [
        (327_680, 573, 10, 702),
        (81_920, 287, 9, 364),
        (20_480, 144, 8, 188),
        (5120, 72, 7, 99),
        (1280, 36, 6, 56),
        (320, 18, 5, 34),
    ] {
        let ObliviStoreParameters { partitions: common, partition } =
            ObliviStoreParameters::for_capacity(blocks, 0, 1);
        assert_eq!((common.partitions, partition.levels, partition.capacity), (partitions, levels, last));
    }
}

#[test]
fn the_planned_trusted_side_is_enough_for_sequences_that_come_back() {
    check_planned_cache(1, |capacity| {
        let parameters = ObliviStoreParameters::for_capacity(capacity, 0, MAX_BATCH);
        let (common, layout) = (parameters.partitions.clone(), parameters.layout());
        (common, layout, move |store: &Rc<TraceStore>| oblivistore_oram(&parameters, Rc::clone(store), 1))
    });
}

#[test]
fn the_peak_of_the_trusted_side_has_the_buffers_of_rebuilds() {
    let parameters = parameters();
    let store = TraceStore::new(parameters.layout());
    let oram = oblivistore_oram(&parameters, &store, 1);
    let cached = peak_of_cache(
        &oram,
        &store,
        Sequence::Random,
        Batches { count: 500, max: MAX_BATCH as usize, seed: 1 },
    );
    // A rebuild of the last level holds its blocks first, and then its slots in addition.
    let last = 3 * parameters.partition.capacity as usize;
    assert!(oram.peak_blocks() >= last, "{} blocks, {last} of one rebuild", oram.peak_blocks());
    let max = cached + parameters.buffer_blocks() as usize + MAX_BATCH as usize;
    assert!(oram.peak_blocks() <= max, "{} blocks, of {max}", oram.peak_blocks());
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    check_refusals(
        &parameters(),
        ObliviStoreParameters::validate,
        &[
            ("partitions is 0", |p| p.partitions.partitions = 0),
            ("levels is 0", |p| p.partition.levels = 0),
            ("levels is 25", |p| p.partition.levels = 25),
            ("capacity is 15", |p| p.partition.capacity = 15),
            ("block_bytes is 33554432", |p| p.partition.block_bytes = 1 << 25),
        ],
    );
}
