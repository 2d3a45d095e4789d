//! The shared checks of the tests of snapshots: two ORAMs that must continue in the same way, and one that must not
//! panic.

use ameles_core::oram::{Access, Oram};
use ameles_core::testing::{ArrayModel, Operation, TraceStore, finish_now, settle};
use ameles_core::types::BlockId;

/// Runs batches, with all pending steps before every other one.
pub fn run<O: Oram>(oram: &O, model: &mut ArrayModel, batches: &[Vec<Operation>]) {
    for (nth, batch) in batches.iter().enumerate() {
        if nth % 2 == 0 || oram.must_step() {
            finish_now(settle(oram));
        }
        finish_now(model.batch(oram, batch));
    }
}

/// Writes every block once, each with its number, and settles the pending work.
pub fn write_all<O: Oram>(oram: &O, model: &mut ArrayModel) {
    for block in 0..oram.capacity() {
        finish_now(model.batch(oram, &[Operation::Write(BlockId(block), block as u8)]));
        finish_now(settle(oram));
    }
}

/// Writes every block once, as [`write_all`] does, and returns the model of what it wrote.
pub fn written<O: Oram>(oram: &O) -> ArrayModel {
    let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
    write_all(oram, &mut model);
    model
}

/// Asserts that an ORAM and the one that was taken up from its snapshot show the same trace from here, and lose
/// nothing.
pub fn assert_alike<O: Oram, R: Oram>(
    (oram, store): (&O, &TraceStore),
    (restored, copy): (&R, &TraceStore),
    mut model: ArrayModel,
    after: &[Vec<Operation>],
) {
    store.take_trace();
    run(oram, &mut model.clone(), after);
    run(restored, &mut model, after);
    assert_eq!(store.take_trace(), copy.take_trace());
    finish_now(model.read_all(restored));
}

/// Reads every block of an ORAM that was taken up from anything at all. Errors are welcome, panics are not.
pub fn read_whatever_comes<O: Oram>(oram: &O) {
    for block in 0..oram.capacity() {
        let mut into = vec![0; oram.block_bytes()];
        let _ = finish_now(oram.access(&mut [Access::Read(BlockId(block), &mut into)]));
        let _ = finish_now(oram.step());
    }
}
