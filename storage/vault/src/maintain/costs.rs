//! The expected requests and bytes of batches. Those of full batches are the costs of an idle paced vault.

use crate::engine::scheme::SchemeParameters;
use crate::lease::{HEARTBEAT_EVERY, LEASE_CHECK_EVERY};
use crate::trusted::header::VaultParameters;
use crate::trusted::shipped_sizes::ShippedSize;
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::ring::RingParameters;
use ameles_seal::blob;
use ameles_store::Usage;
use std::time::Duration;

/// The requests of a vault's lease checks in this time. They do not depend on what callers ask.
pub fn usage_of_lease_checks(time: Duration) -> Usage {
    let looks = time.as_secs_f64() / LEASE_CHECK_EVERY.as_secs_f64();
    Usage { blob_reads: looks.round() as u64, ..Usage::default() }
}

/// The requests of the heartbeats in this time, of a vault that nobody uses. With use, its log objects serve as heartbeats.
pub fn usage_of_heartbeats(time: Duration) -> Usage {
    let objects = (time.as_secs_f64() / HEARTBEAT_EVERY.as_secs_f64()).round() as u64;
    Usage { blob_writes: objects, blob_deletes: objects, ..Usage::default() }
}

/// The expected requests and slots of a batch.
struct Batch {
    gets: f64,
    slots_read: f64,
    buckets_written: f64,
    slots_written: f64,
}

impl VaultParameters {
    /// Returns the requests and bytes of this many full batches.
    pub fn usage_of(&self, full_batches: f64) -> Usage {
        self.usage_of_batches(full_batches, self.scheme.max_batch())
    }

    /// Returns the requests and bytes of this many batches of this length: accesses, evictions, checkpoints, and the
    /// deletion of replaced objects. It assumes that every bucket was written before. Stored bytes are not included.
    pub fn usage_of_batches(&self, batches: f64, length: u32) -> Usage {
        let batch = match &self.scheme {
            SchemeParameters::Ring(ring) => ring_batch(ring, length),
            SchemeParameters::Path(path) => path_batch(path, length),
            SchemeParameters::Trivial(trivial) => {
                let blocks = trivial.capacity as f64;
                Batch { gets: blocks, slots_read: blocks, buckets_written: blocks, slots_written: blocks }
            }
        };
        let layout = self.layout();
        // All slots of a scheme have one length.
        let slot_bytes = layout.bytes().0 as f64 / layout.slots() as f64;
        let accesses = batches * f64::from(length);
        let checkpoints = accesses / self.checkpoint_every as f64;
        let shipped = checkpoints / self.ship_every as f64;
        let ShippedSize { pieces, bytes, manifest } = self.shipped_size(self.recovery_point());
        let objects = shipped * (pieces + 1) as f64;
        let sealed = |text: u64, objects: u64| text + objects * blob::sealed_bytes(0) as u64;
        let shipped_bytes = shipped * (sealed(bytes, pieces) + sealed(manifest, 1)) as f64;
        let journal = self.journal_share(batches, length);
        let whole = |count: f64| count.round() as u64;
        Usage {
            slot_reads: whole(batches * batch.gets),
            bucket_writes: whole(batches * batch.buckets_written),
            bucket_deletes: whole(batches * batch.buckets_written),
            blob_writes: whole(objects + journal.objects),
            blob_deletes: whole(objects + journal.objects),
            // The claims are listed before a manifest is sent and before a deletion. Older objects are listed after a
            // manifest.
            lists: whole(3.0 * shipped + checkpoints + journal.lists * shipped),
            bytes_up: whole(batches * batch.slots_written * slot_bytes + shipped_bytes + journal.bytes),
            bytes_down: whole(batches * batch.slots_read * slot_bytes),
            ..Usage::default()
        }
    }

    /// The share of a journal in the store: an object for each batch, and lists of objects that a shipped checkpoint
    /// holds.
    fn journal_share(&self, batches: f64, length: u32) -> JournalShare {
        if !self.journal.is_in_store() {
            return JournalShare::default();
        }
        /// The number of names in a page of a list.
        const PAGE: f64 = 1000.0;
        let each = self.journal_object_bytes(length.into()) as f64;
        // Announcements in etcd are no requests to the store.
        let announces = self.journal.announces() && !self.journal.has_payload_objects();
        let steps = if announces { self.announced_steps(length) } else { 0.0 };
        let between = self.recovery_point() as f64 / f64::from(length) * (1.0 + steps);
        let bytes = batches * (each + steps * self.journal_object_bytes(0) as f64);
        JournalShare { objects: batches * (1.0 + steps), bytes, lists: (between / PAGE).ceil() }
    }

    /// The log objects for each batch besides its own, in a vault that announces in the store: what a read brings
    /// announces a write. An eviction announces the reads of each slice as well. Steps at one time share an object, so
    /// this is a maximum. Announcements themselves are short.
    fn announced_steps(&self, length: u32) -> f64 {
        match &self.scheme {
            SchemeParameters::Ring(ring) => {
                let evictions = f64::from(length) / f64::from(ring.eviction_rate);
                2.0 * evictions * ring.slices().len().max(1) as f64
            }
            SchemeParameters::Path(_) | SchemeParameters::Trivial(_) => 1.0,
        }
    }
}

/// Objects and bytes of a journal in the store, and lists for each shipped checkpoint.
#[derive(Default)]
struct JournalShare {
    objects: f64,
    bytes: f64,
    lists: f64,
}

fn ring_batch(ring: &RingParameters, length: u32) -> Batch {
    let (accesses, traffic) = (f64::from(length), ring.traffic());
    Batch {
        gets: accesses * traffic.gets,
        slots_read: accesses * traffic.slots_read,
        buckets_written: accesses * traffic.buckets_written,
        slots_written: accesses * traffic.slots_written,
    }
}

/// The paths of a batch share buckets near the root.
fn path_batch(path: &PathParameters, length: u32) -> Batch {
    let buckets: f64 = (path.top.0..=path.leaf_level.0)
        .map(|level| {
            let width = f64::from(level).exp2();
            width * (1.0 - (1.0 - 1.0 / width).powf(f64::from(length)))
        })
        .sum();
    Batch { gets: buckets, slots_read: buckets, buckets_written: buckets, slots_written: buckets }
}
