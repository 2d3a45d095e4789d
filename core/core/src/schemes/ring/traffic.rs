//! The expected traffic of an access, and the objective that a plan minimises.

use super::parameters::{RingBucket, RingParameters};
use super::poisson::Threshold;

/// The traffic of an access to and from the store, expected, of on-line reads, evictions and early reshuffles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RingTraffic {
    /// The number of requests that read: a slot on line, or a run of adjacent slots of a bucket that is evicted.
    pub gets: f64,
    /// The number of buckets written, and as many removed.
    pub buckets_written: f64,
    /// The number of slots read.
    pub slots_read: f64,
    /// The number of slots written.
    pub slots_written: f64,
}

impl RingTraffic {
    /// All requests: those that read, that write and that remove.
    pub fn requests(&self) -> f64 {
        self.gets + 2.0 * self.buckets_written
    }

    /// Returns the number of slots read and written.
    pub fn slots(&self) -> f64 {
        self.slots_read + self.slots_written
    }
}

/// The objective of a plan: what each part of the traffic costs, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RingObjective {
    /// The cost of a request that reads.
    pub get: f64,
    /// The cost of the write of a bucket, and of its removal later.
    pub put: f64,
    /// The cost of a slot that is read.
    pub slot_read: f64,
    /// The cost of a slot that is written.
    pub slot_written: f64,
    /// The cost of a slot of the largest slice of an eviction: a request may have to wait for it.
    pub slot_waited: f64,
}

impl RingObjective {
    /// The bytes moved, either way.
    pub const BYTES: Self =
        RingObjective { get: 0.0, put: 0.0, slot_read: 1.0, slot_written: 1.0, slot_waited: 0.0 };

    /// The requests. A slot counts as a twentieth of a request, so that a plan does not move many bytes without need.
    pub const REQUESTS: Self =
        RingObjective { get: 1.0, put: 2.0, slot_read: 0.05, slot_written: 0.05, slot_waited: 0.0 };

    /// The most bytes that a request may wait for: those of an access, which it waits for when requests come as fast as
    /// they can, and those of a slice of an eviction.
    pub const LATENCY: Self = RingObjective { slot_waited: 1.0, ..Self::BYTES };

    /// The cost of such an access, without what it may wait for.
    pub fn of(&self, traffic: &RingTraffic) -> f64 {
        self.get * traffic.gets
            + self.put * traffic.buckets_written
            + self.slot_read * traffic.slots_read
            + self.slot_written * traffic.slots_written
    }
}

impl RingParameters {
    /// The traffic of an access, expected.
    pub fn traffic(&self) -> RingTraffic {
        let rate = f64::from(self.eviction_rate);
        // Reads of a bucket between two evictions are Poisson with mean A; a bucket that gets more is reshuffled.
        let early = Threshold::of(self.reads_before_reshuffle()).exceeded(rate);
        let inner = f64::from(self.leaf_level.0 - self.top.0);
        let rewrites = (1.0 + early) / rate;
        let both = |of: &dyn Fn(RingBucket) -> f64| inner * of(self.inner) + of(self.leaf);
        RingTraffic {
            gets: inner + 1.0 + rewrites * both(&|bucket| self.runs(bucket)),
            buckets_written: rewrites * (inner + 1.0),
            slots_read: inner + 1.0 + rewrites * both(&|bucket| self.fetched(bucket)),
            slots_written: rewrites * both(&|bucket| bucket.slots.into()),
        }
    }

    /// Returns the number of slots read and written for each access, expected: on-line reads, evictions and early
    /// reshuffles.
    pub fn slots_per_access(&self) -> f64 {
        self.traffic().slots()
    }

    /// Returns the number of slots written for each access, expected: evictions and early reshuffles.
    pub fn slots_written_per_access(&self) -> f64 {
        self.traffic().slots_written
    }

    /// Returns the number of slots that an eviction fetches of a bucket.
    fn fetched(&self, bucket: RingBucket) -> f64 {
        let unread = (f64::from(bucket.slots) - f64::from(self.eviction_rate)).max(0.0);
        f64::from(bucket.blocks).min(unread)
    }

    /// Returns the number of requests that fetch them: each run of adjacent slots is one. A random choice has this many
    /// runs on average.
    fn runs(&self, bucket: RingBucket) -> f64 {
        let (fetched, slots) = (self.fetched(bucket), f64::from(bucket.slots));
        fetched * (slots - fetched + 1.0) / slots
    }
}
