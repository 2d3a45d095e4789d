//! Tests of hierarchical ORAM beyond right answers.

use super::setup::*;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::schemes::hierarchical::{HierarchicalParameters, LevelShape, overflow_log2};
use ameles_core::test_refusals;
use ameles_core::testing::{ArrayModel, Executor, Operation, TraceEntry, TraceStore, exercise, finish_now};
use ameles_core::types::BlockId;

const PARAMETERS: HierarchicalParameters = HierarchicalParameters {
    capacity: 100,
    block_bytes: 5,
    buffer: 12,
    load: 2,
    run_blocks: 150,
    max_batch: MAX_BATCH,
    spread: false,
};

/// Returns the numbers of blocks, buckets and slots of each level.
fn shapes(parameters: &HierarchicalParameters) -> Vec<(u64, u64, u32)> {
    parameters
        .levels()
        .iter()
        .map(|LevelShape { blocks, buckets, slots, .. }| (*blocks, *buckets, *slots))
        .collect()
}

/// Entries of a trace, slots that it reads, and slots that it writes.
fn traffic_of_tables(parameters: &HierarchicalParameters, trace: &[TraceEntry]) -> (usize, u64, u64) {
    let layout = parameters.layout();
    let slots = trace.iter().fold((0, 0), |(read, written), entry| match entry {
        TraceEntry::Read(slots) => (read + slots.len() as u64, written),
        TraceEntry::Write(buckets) => {
            let slots = buckets.iter().map(|bucket| u64::from(layout.extent(*bucket).slots)).sum::<u64>();
            (read, written + slots)
        }
    });
    (trace.len(), slots.0, slots.1)
}

/// Reads a block this many times, in one batch, and returns the traffic.
fn read(oram: &impl Oram, store: &TraceStore, times: usize) -> (usize, u64, u64) {
    finish_now(ArrayModel::new(100, 5).batch(oram, &vec![Operation::Read(BlockId(7)); times]));
    traffic_of_tables(&PARAMETERS, &store.take_trace())
}

#[test]
fn costs_are_as_documented() {
    let store = TraceStore::new(PARAMETERS.layout());
    let oram = hierarchical(&PARAMETERS, &store, 1);
    assert_eq!(shapes(&PARAMETERS), [(12, 8, 12), (24, 16, 22), (48, 32, 26), (96, 64, 28), (100, 64, 28)]);
    let slots = [12, 22, 26, 28, 28];
    let mut full = [false; 5];
    for epoch in 1u32..40 {
        let (levels, max) = full
            .iter()
            .zip(slots)
            .filter(|(full, _)| **full)
            .fold((0, 0), |(levels, max), (_, slots)| (levels + 1, max + slots));
        for (before, batch) in [(0, 2), (2, 5)] {
            let buffer = usize::from(before > 0);
            let costs = (buffer + levels + 1, before + batch * max, batch);
            assert_eq!(read(&oram, &store, batch as usize), costs, "epoch {epoch}");
        }
        assert_eq!((oram.pending_steps(), oram.must_step()), (1, true));
        assert!(matches!(finish_now(oram.access(&mut [Access::Dummy])), Err(OramError::Backlogged)));
        assert_eq!(store.take_trace(), []);
        finish_now(oram.step()).unwrap();
        let level = PARAMETERS.level_of_epoch(epoch.into());
        assert_eq!(level, (epoch.trailing_zeros() as usize).min(4));
        full[..level].fill(false);
        full[level] = true;
        assert_eq!(oram.pending_steps(), 0);
        let (_, read, written) = traffic_of_tables(&PARAMETERS, &store.take_trace());
        assert_eq!((read, written), (rebuilt(level), rebuilt(level)), "epoch {epoch}");
    }
    assert_eq!(oram.trusted_bytes(), 5 * 32);
}

/// Returns the number of slots that a rebuild of a level reads, which is also the number that it writes. A rebuild
/// copies to the area, to the list, back, and to the table, and sorts.
fn rebuilt(level: usize) -> u64 {
    let (blocks, buckets, slots) = shapes(&PARAMETERS)[level];
    let table = buckets * u64::from(slots);
    let sort = |records: u64| {
        let runs = records.div_ceil(150);
        // Knuth, table 1 of section 5.3.4.
        let comparators = [0, 0, 1, 3, 5, 9, 12, 16, 19, 26, 31, 37, 41, 48, 53, 59, 63][runs as usize];
        150 * (runs + 2 * comparators)
    };
    let incoming = PARAMETERS.incoming(level);
    let by_block = if level == 4 { 2 } else { 1 };
    incoming + by_block * sort(incoming) + 2 * blocks + 2 * sort(blocks + table) + table
}

#[test]
fn a_rebuild_that_is_spread_out_keeps_no_access_waiting() {
    let parameters = HierarchicalParameters { spread: true, ..PARAMETERS };
    let store = TraceStore::new(parameters.layout());
    let oram = hierarchical(&parameters, &store, 1);
    let mut model = ArrayModel::new(100, 5);
    for epoch in 0..40u64 {
        let write = |block: u64| Operation::Write(BlockId(block % 100), epoch as u8);
        finish_now(model.batch(&oram, &[write(epoch), write(3 * epoch), write(7)]));
        finish_now(model.batch(&oram, &[write(epoch + 1), write(5 * epoch), write(11), Operation::Dummy]));
        assert!(oram.must_step());
        store.hold_back(true);
        let mut executor = Executor::new();
        executor.spawn(async { oram.step().await.expect("the store works") });
        executor.run();
        assert!(!oram.must_step() && oram.pending_steps() == 1, "the next epoch has begun");
        let requested = store.pending();
        store.hold_back(false);
        let read = |block: u64| Operation::Read(BlockId(block % 100));
        finish_now(model.batch(&oram, &[read(epoch), read(3 * epoch), read(7), read(5 * epoch)]));
        assert_eq!(store.pending(), requested, "the rebuild has not gone on");
        while store.pending() > 0 {
            store.complete(0);
            executor.run();
        }
        assert_eq!((executor.unfinished(), oram.pending_steps()), (0, 0));
        finish_now(model.batch(&oram, &[read(epoch), read(11), read(7)]));
        finish_now(oram.step()).unwrap();
    }
}

#[test]
fn a_table_overflows_as_seldom_as_claimed_for_every_capacity() {
    for capacity in (0..=32).flat_map(|bits| [1u64 << bits, (1 << bits) + (1 << bits) / 2]) {
        for (load, buffer) in [(1, 6), (1, 4096), (4, 6), (16, 64), (1 << 16, 1 << 10)] {
            let paper = HierarchicalParameters::for_capacity(capacity.min(1 << 32), 1, 1 << 20, MAX_BATCH);
            let parameters = HierarchicalParameters { load, buffer, ..paper };
            parameters.validate().unwrap();
            for (blocks, buckets, slots) in shapes(&parameters) {
                assert!(u64::from(slots) == blocks || overflow_log2(blocks, buckets, slots) < -80.0);
                assert!(blocks <= buckets * u64::from(load));
            }
        }
    }
}

#[test]
fn the_bound_on_a_table_is_above_the_probability_by_a_small_factor() {
    // Exactly, for one bucket: the binomial distribution; for all of them, their sum is the union bound.
    for (blocks, buckets) in [(12u64, 8u64), (64, 64), (300, 32)] {
        let chance = 1.0 / buckets as f64;
        let mut probability = (1.0 - chance).powi(blocks as i32);
        let mut above = 1.0 - probability;
        for slots in 0..blocks.min(40) {
            let exact = (above.max(0.0) * buckets as f64).log2();
            let bound = overflow_log2(blocks, buckets, slots as u32);
            if above > 1e-12 {
                assert!(bound >= exact.min(0.0), "{blocks} in {buckets}, {slots} slots: {bound} < {exact}");
                let loose = slots as f64 > 2.0 * blocks as f64 * chance && bound - exact > 4.0;
                assert!(!loose, "{blocks} in {buckets}, {slots} slots: {bound}, {exact}");
            }
            probability *= (blocks - slots) as f64 / (slots + 1) as f64 * chance / (1.0 - chance);
            above -= probability;
        }
    }
}

#[test]
fn a_single_block_with_spread_rebuilds_is_answered_like_an_array() {
    for run_blocks in [40, 45] {
        let paper = HierarchicalParameters::for_capacity(1, 0, 1, MAX_BATCH);
        let parameters = HierarchicalParameters { buffer: 6, load: 1, run_blocks, spread: true, ..paper };
        let (write, read) = (Operation::Write(BlockId(0), 7), Operation::Read(BlockId(0)));
        let batches = [vec![], vec![write], vec![read; 6], vec![write, read, Operation::Dummy, read]];
        let batches: Vec<Vec<Operation>> = batches.iter().cycle().take(20).cloned().collect();
        for eager in [false, true] {
            let store = TraceStore::new(parameters.layout());
            exercise(&hierarchical(&parameters, &store, 1), &batches, eager);
        }
    }
}

test_refusals! { PARAMETERS,
    ("capacity is 8589934592", |p| p.capacity = 1 << 33),
    ("buffer is 5", |p| p.buffer = 5),
    ("load is 0", |p| p.load = 0),
    ("run_blocks is 27", |p| p.run_blocks = 27),
}
