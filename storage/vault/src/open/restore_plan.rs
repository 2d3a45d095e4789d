//! The plan of a restore: what it will move. It follows from the public part of the checkpoint, and is said before
//! anything is moved.

use super::shipped_checkpoint::FoundCheckpoint;
use crate::engine::scheme::SchemeParameters;
use crate::trusted::header::VaultHeader;
use ameles_core::schemes::ring::{RingProgress, RingRedraw};
use std::time::Duration;

/// The amounts that a restore will move. Public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestorePlan {
    /// True if no bucket is moved: the next opening repeats the accesses since the checkpoint.
    pub repeats: bool,
    /// The number of buckets of the checkpoint.
    pub buckets_read: u64,
    /// The number of bytes that must still be fetched: those of the buckets that an interrupted restore has not fetched.
    pub bytes_read: u64,
    /// The number of buckets that are written. 0 if blocks are written by accesses.
    pub buckets_written: u64,
    /// The number of accesses that write blocks. 0 with Ring ORAM.
    pub accesses: u64,
    /// The number of accesses that the restored vault counts.
    pub accesses_after: u64,
    /// The number of bytes that are written, without the checkpoint of the restored state.
    pub bytes_written: u64,
    /// True if the journal in the store may add to it.
    pub may_grow: bool,
    /// The bytes of the checkpoint that was fetched first, and the time that this took.
    pub first: (u64, Duration),
    /// The time for which the displaced gateway may still answer: the restore is not complete before. Zero until it is
    /// displaced.
    pub wait: Duration,
}

impl RestorePlan {
    /// The time that the restore may take, at the speed at which the checkpoint came. `None` if nothing came.
    pub fn estimate(&self) -> Option<Duration> {
        let (bytes, time) = self.first;
        let moved = (self.bytes_read + self.bytes_written) as f64;
        (bytes > 0).then(|| time.mul_f64(moved / bytes as f64))
    }
}

/// Plans a restore that repeats this many accesses of the journal in the store after a checkpoint. The next opening reads
/// what they read.
pub(super) fn plan_repetition(found: &FoundCheckpoint, logged: u64) -> RestorePlan {
    RestorePlan {
        repeats: true,
        accesses_after: found.point.accesses.saturating_add(logged),
        may_grow: logged == 0,
        first: found.came,
        ..RestorePlan::default()
    }
}

/// Plans a restore from a checkpoint after which the journal in the store has this many accesses. This many bytes of its
/// buckets are missing in the local copy.
pub(super) fn plan_restore(
    header: &VaultHeader,
    found: &FoundCheckpoint,
    logged: u64,
    missing: u64,
) -> RestorePlan {
    let (parameters, versions) = (&header.parameters, &found.versions);
    let accesses = found.point.accesses.saturating_add(logged);
    let plan = RestorePlan {
        buckets_read: versions.live().count() as u64,
        bytes_read: missing,
        may_grow: found.from.object.is_some() && logged == 0,
        first: found.came,
        ..RestorePlan::default()
    };
    let layout = parameters.layout();
    match (&parameters.scheme, RingProgress::of_rest(found.scheme.rest())) {
        (SchemeParameters::Ring(ring), Some(progress)) => {
            let exists = |bucket| !versions.version(bucket).is_never();
            let redraw = RingRedraw::plan(ring, progress, logged, exists);
            let bytes = redraw.buckets().iter().map(|(_, bucket)| layout.bucket_bytes(*bucket) as u64);
            let buckets_written = redraw.buckets().len() as u64;
            RestorePlan { buckets_written, bytes_written: bytes.sum(), accesses_after: accesses, ..plan }
        }
        // Accesses read as much as they write.
        (scheme, _) => {
            let accesses = scheme.accesses_of_restore(accesses);
            let bytes = accesses as f64 * scheme.bytes_written_per_byte() * f64::from(scheme.block_bytes());
            let (bytes_read, bytes_written) = (missing + bytes as u64, bytes as u64);
            let accesses_after = match parameters.pad_batches {
                true => accesses.next_multiple_of(scheme.max_batch().into()),
                false => accesses,
            };
            RestorePlan { accesses, accesses_after, bytes_read, bytes_written, ..plan }
        }
    }
}
