//! Simulates how many blocks wait in the stash of a full vault in its worst case, a scan.

use super::executor::finish_now;
use crate::oram::Access;
use crate::snapshot::full::FullSnapshot;
use crate::types::BlockId;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Returns how often the stash held each number of blocks after the due work. The blocks of the ORAM have no bytes.
/// Each access reads the block that was read least recently. Four times the capacity is read first, to reach the steady
/// state.
///
/// # Panics
/// If the ORAM refuses or fails, or makes an emergency eviction.
pub fn stash_histogram<R, O: FullSnapshot<R>>(oram: &O, accesses: u64) -> BTreeMap<i64, u64> {
    let (capacity, batch) = (oram.capacity(), oram.max_batch() as u64);
    let mut held = BTreeMap::new();
    for nth in 0..(4 * capacity + accesses) / batch {
        let mut nothing = vec![[0; 0]; batch as usize];
        let block = |at: u64| BlockId((nth * batch + at) % capacity);
        let mut accesses: Vec<Access<'_>> =
            (0..).zip(&mut nothing).map(|(at, into)| Access::Read(block(at), into)).collect();
        finish_now(oram.access(&mut accesses)).expect("the access");
        while oram.pending_steps() > 0 {
            finish_now(oram.step()).expect("the step");
        }
        if nth * batch >= 4 * capacity {
            *held.entry(oram.stash_blocks() as i64).or_default() += 1;
        }
    }
    assert_eq!(oram.emergencies(), 0, "an eviction outside of the schedule");
    held
}
