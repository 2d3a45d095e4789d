//! The change of the vault's key in service: what the earlier key opens goes, until the key itself can go.
//!
//! Evictions and reshuffles carry the newest key anyway. A **sweep** does what they leave: it goes once through the
//! buckets in the order of their numbers, and writes again as they are those whose version is of an epoch of the earlier
//! key. When none is left, a checkpoint is shipped, and what is older is deleted. Then the claims are sealed anew, and the
//! header without the earlier key takes the place of the one with it.
//!
//! A step of the sweep comes after each batch, and while nobody asks; under a pace, one in each turn. So its times and its
//! buckets follow from the versions, which every watcher sees, and from the times of batches.

mod steps;

use ameles_core::types::Bucket;
use ameles_seal::key_ring::KeyRing;
use ameles_seal::versions::TrustedVersions;

/// See the module.
pub(super) struct KeyChange {
    /// The last epoch of the earlier key.
    until: u32,
    /// The bucket at which the sweep stands.
    next: u64,
    steps: u64,
    /// True if a batch has begun since the last step of the sweep.
    has_turn: bool,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Buckets are left that the earlier key opens.
    Sweeping,
    /// The sweep is over; the checkpoint of this number, or one before it, may name buckets that the earlier key opens.
    Settling(u64),
    /// The claims are sealed anew, and the header is replaced.
    Ending,
}

impl KeyChange {
    /// The change that is under way with these keys, if one is: it goes on at the first bucket that the earlier one opens.
    pub(super) fn of(ring: &KeyRing, versions: &TrustedVersions) -> Option<Self> {
        let until = ring.earlier()?.until;
        let mut buckets = 0..versions.buckets();
        let next = buckets.find(|bucket| is_of_earlier_key(versions, Bucket(*bucket), until));
        let next = next.unwrap_or_else(|| versions.buckets());
        Some(KeyChange { until, next, steps: 0, has_turn: false, stage: Stage::Sweeping })
    }

    /// The buckets that the sweep has passed.
    pub(super) fn passed(&self) -> u64 {
        self.next
    }

    /// Notes that a batch begins.
    pub(super) fn on_batch_started(&mut self) {
        self.has_turn = true;
    }

    /// Tells whether header and claims are being replaced.
    pub(super) fn is_ending(&self) -> bool {
        self.stage == Stage::Ending
    }
}

/// Tells whether a bucket is sealed with the earlier key, whose last epoch is `until`.
fn is_of_earlier_key(versions: &TrustedVersions, bucket: Bucket, until: u32) -> bool {
    let version = versions.version(bucket);
    !version.is_never() && version.epoch <= until
}
