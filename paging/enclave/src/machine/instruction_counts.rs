//! The instructions that the enclave's harts retire, and those of them that do not count as the runtime's own.

use crate::processor::DistributedWork;
use core::sync::atomic::{AtomicU64, Ordering};

/// The number of instructions spent waiting for the host.
static WAITED: AtomicU64 = AtomicU64::new(0);
/// The number of instructions of the shares of batches, if they are counted.
static SHARED: AtomicU64 = AtomicU64::new(0);
/// The number of instructions of each batch's longest share.
static LONGEST: AtomicU64 = AtomicU64::new(0);
/// The number of instructions that handed the shares over.
static HANDOVER: AtomicU64 = AtomicU64::new(0);

/// Instructions retired so far, including those that waited for the host.
#[inline]
pub(super) fn all_retired_instructions() -> u64 {
    riscv::register::instret::read64()
}

/// Instructions spent waiting for the host so far.
#[inline]
pub(super) fn waited_instructions() -> u64 {
    WAITED.load(Ordering::Relaxed)
}

/// Counts the instructions retired since `begin` as waiting. One hart at a time calls this.
pub(super) fn count_wait_since(begin: u64) {
    WAITED.store(waited_instructions() + all_retired_instructions() - begin, Ordering::Relaxed);
}

/// Instructions of the shares of batches so far.
pub(super) fn shares() -> DistributedWork {
    DistributedWork {
        shared: SHARED.load(Ordering::Relaxed),
        longest: LONGEST.load(Ordering::Relaxed),
        handing_over: HANDOVER.load(Ordering::Relaxed),
    }
}

/// Adds the instructions of a batch.
pub(super) fn count_shares(batch: &DistributedWork) {
    SHARED.fetch_add(batch.shared, Ordering::Relaxed);
    LONGEST.fetch_add(batch.longest, Ordering::Relaxed);
    HANDOVER.fetch_add(batch.handing_over, Ordering::Relaxed);
}
