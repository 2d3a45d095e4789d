//! The change of the vault's key while the vault is served. Everything that the earlier key opens is replaced, until
//! the earlier key itself can be dropped.
//!
//! Evictions and reshuffles seal with the newest key anyway. A **sweep** handles the remaining buckets. It goes once
//! through all buckets in the order of their numbers. A bucket whose version is of an epoch of the earlier key is
//! written again with the same contents. When none is left, a checkpoint is shipped, and older objects are deleted.
//! Then the claims are resealed, and a header without the earlier key replaces the header in the store.
//!
//! The sweep makes a step after each batch, and while no caller asks; under a pace it makes one in each turn. So the
//! times and buckets of the sweep follow from the versions, which every watcher sees, and from the times of batches.

mod steps;

use ameles_core::types::Bucket;
use ameles_seal::key_ring::KeyRing;
use ameles_seal::versions::TrustedVersions;

/// A running change of the key.
pub(super) struct KeyChange {
    /// The last epoch of the earlier key.
    until: u32,
    /// The next bucket of the sweep.
    next: u64,
    steps: u64,
    /// True if a batch has started since the last step of the sweep.
    has_turn: bool,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Some buckets still need the earlier key.
    Sweeping,
    /// The sweep is over. The checkpoint of this number, or an earlier one, may still name buckets that the earlier key
    /// opens.
    Settling(u64),
    /// The claims are being resealed, and the header is being replaced.
    Ending,
}

impl KeyChange {
    /// The change that is running with these keys, if one is. It continues at the first bucket that the earlier key
    /// opens.
    pub(super) fn of(ring: &KeyRing, versions: &TrustedVersions) -> Option<Self> {
        let until = ring.earlier()?.last_epoch;
        let mut buckets = 0..versions.buckets();
        let next = buckets.find(|bucket| is_of_earlier_key(versions, Bucket(*bucket), until));
        let next = next.unwrap_or_else(|| versions.buckets());
        Some(KeyChange { until, next, steps: 0, has_turn: false, stage: Stage::Sweeping })
    }

    /// The number of buckets before the next one of the sweep.
    pub(super) fn passed(&self) -> u64 {
        self.next
    }

    /// The first epoch whose objects the earlier key does not open: checkpoints no longer build on earlier pieces.
    pub(super) fn keeps_from(&self) -> u32 {
        self.until + 1
    }

    /// Records that a batch has started.
    pub(super) fn on_batch_started(&mut self) {
        self.has_turn = true;
    }

    /// Returns whether header and claims are being replaced.
    pub(super) fn is_ending(&self) -> bool {
        self.stage == Stage::Ending
    }
}

/// Returns whether a bucket is sealed with the earlier key, whose last epoch is `until`.
fn is_of_earlier_key(versions: &TrustedVersions, bucket: Bucket, until: u32) -> bool {
    let version = versions.version(bucket);
    !version.is_never() && version.epoch <= until
}
