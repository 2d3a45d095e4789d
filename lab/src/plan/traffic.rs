//! The mean traffic of an access of a block: each scheme's share before its answer, and its share after the answer.

use super::work::BATCH;
use crate::add_fields::add_fields;
use ameles_core::schemes::curious::CuriousParameters;
use ameles_core::schemes::oblivistore::ObliviStoreParameters;
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::practical_os::PracticalOsParameters;
use ameles_core::schemes::ring::RingParameters;
use ameles_core::schemes::trivial::TrivialParameters;
use ameles_core::tree::layout::Layout;
use std::ops::Mul;

/// The number of bytes that sealing adds to a slot.
pub(super) const SEALING_BYTES: u64 = 16;

/// The mean requests and bytes. Each bucket that is written is removed once, in its old version.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// The number of requests that read.
    pub gets: f64,
    /// The number of requests that write.
    pub puts: f64,
    /// The number of bytes from the store.
    pub down: f64,
    /// The number of bytes to the store.
    pub up: f64,
}

add_fields!(Flow { gets, puts, down, up });

impl Mul<f64> for Flow {
    type Output = Flow;

    fn mul(self, by: f64) -> Flow {
        Flow { gets: self.gets * by, puts: self.puts * by, down: self.down * by, up: self.up * by }
    }
}

/// The mean pending work that a batch waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PendingWaits {
    /// The number of round trips of reads.
    pub reads: f64,
    /// The number of round trips of writes.
    pub writes: f64,
    /// The part of the bytes to the store.
    pub up: f64,
}

/// The traffic of an access of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// The requests and bytes before the answer.
    pub on_line: Flow,
    /// The requests and bytes that are pending after the operation.
    pub off_line: Flow,
    /// The share of a batch's log object, if the journal is in the store. It is sent beside the reads.
    pub logged: Flow,
    /// The number of round trips of a batch before its answer.
    pub round_trips: f64,
    /// The round trips of pending work that a batch waits for: of reads, and of writes.
    pub waits: PendingWaits,
    /// The number of accesses whose pending reads are sent together; 0 if each is sent alone.
    pub burst: f64,
    /// The number of sequential round trips of the pending work of an access.
    pub off_line_round_trips: f64,
    /// The number of bytes of the store.
    pub stored: f64,
}

/// Returns the number of bytes of a sealed slot of a block with this many bytes of header and payload.
fn sealed(plain: u64) -> f64 {
    (plain + SEALING_BYTES) as f64
}

/// Returns the number of bytes of a layout, sealed.
fn stored(layout: &Layout) -> f64 {
    (layout.bytes().0 + layout.slots() * SEALING_BYTES) as f64
}

/// Returns the number of bytes of the first slot of a layout, sealed.
fn slot(layout: &Layout) -> f64 {
    layout.extents().first().map_or(0.0, |extent| sealed(extent.slot_bytes.into()))
}

/// The probability that one access of a batch goes to a place of the previous batch, among `places`.
fn collision_probability(batch: f64, places: f64) -> f64 {
    1.0 - (1.0 - (batch / places).min(1.0)).powf(batch)
}

/// The number of accesses, about, that the place with most accesses of a batch has beyond its first.
fn repeat_accesses(batch: f64, places: f64) -> f64 {
    let pairs = batch * (batch - 1.0) / 2.0 / places;
    let triples = pairs * (batch - 2.0).max(0.0) / 3.0 / places;
    (1.0 - (-pairs).exp()) + (1.0 - (-triples).exp())
}

/// Ring ORAM: a slot of each bucket of a path on line; evictions and early reshuffles off line.
pub(crate) fn ring(ring: &RingParameters, batch: f64) -> Traffic {
    let (all, layout) = (ring.traffic(), ring.layout());
    let (levels, bytes) = (f64::from(ring.leaf_level.0 + 1 - ring.top.0), slot(&layout));
    let on_line = Flow { gets: levels, down: levels * bytes, ..Flow::default() };
    let off_line = Flow {
        gets: all.gets - levels,
        puts: all.buckets_written,
        down: (all.slots_read - levels) * bytes,
        up: all.slots_written * bytes,
    };
    // Two evictions may be in flight, each of a read and a write.
    let off_line_round_trips = 1.0 / f64::from(ring.eviction_rate);
    Traffic {
        on_line,
        off_line,
        logged: Flow::default(),
        round_trips: 1.0,
        // If a full batch causes more than one eviction, accesses wait for them; two are in flight.
        waits: if ring.eviction_rate < ring.max_batch {
            let evictions = batch / f64::from(ring.eviction_rate) / 2.0;
            PendingWaits { reads: evictions, writes: evictions, up: 0.0 }
        } else {
            PendingWaits::default()
        },
        burst: ring.eviction_rate.into(),
        off_line_round_trips,
        stored: stored(&layout),
    }
}

/// Path ORAM in batches: the buckets of the batch's paths are read and written once each.
pub(crate) fn path(path: &PathParameters, batch: f64) -> Traffic {
    let layout = path.layout();
    let distinct = |level: u32| {
        let nodes = f64::from(level).exp2();
        nodes * (1.0 - (1.0 - 1.0 / nodes).powf(batch)) / batch
    };
    let buckets: f64 = (path.top.0..=path.leaf_level.0).map(distinct).sum();
    let bytes = buckets * slot(&layout);
    Traffic {
        on_line: Flow { gets: buckets, down: bytes, ..Flow::default() },
        off_line: Flow { puts: buckets, up: bytes, ..Flow::default() },
        logged: Flow::default(),
        round_trips: 1.0,
        // Accesses wait for the writes of a full batch.
        waits: PendingWaits { writes: 1.0 / (BATCH as f64 / batch).ceil(), up: 1.0, reads: 0.0 },
        burst: 0.0,
        off_line_round_trips: 1.0 / batch,
        stored: stored(&layout),
    }
}

/// Trivial ORAM: everything is read and written for each batch, chunk after chunk.
pub(crate) fn trivial(trivial: &TrivialParameters, batch: f64) -> Traffic {
    let layout = trivial.layout();
    let all = trivial.capacity as f64;
    let (slots, bytes) = (all / batch, slot(&layout) * all / batch);
    let chunks = all / f64::from(trivial.chunk_blocks);
    Traffic {
        on_line: Flow { gets: slots, puts: slots, down: bytes, up: bytes },
        off_line: Flow::default(),
        logged: Flow::default(),
        round_trips: 2.0 * chunks,
        waits: PendingWaits::default(),
        burst: 0.0,
        off_line_round_trips: 0.0,
        stored: stored(&layout),
    }
}

/// CURIOUS: a path of a tree is read on line and written off line.
pub(crate) fn curious(curious: &CuriousParameters, batch: f64) -> Traffic {
    let layout = curious.layout();
    let levels = f64::from(curious.tree.levels);
    let partitions = f64::from(curious.partitions.partitions);
    let again = repeat_accesses(batch, partitions);
    let bytes = levels * slot(&layout);
    Traffic {
        on_line: Flow { gets: levels, down: bytes, ..Flow::default() },
        off_line: Flow { puts: levels, up: bytes, ..Flow::default() },
        logged: Flow::default(),
        round_trips: 1.0,
        waits: PendingWaits {
            writes: again + collision_probability(batch, partitions),
            ..PendingWaits::default()
        },
        burst: 0.0,
        off_line_round_trips: 0.0,
        stored: stored(&layout),
    }
}

/// ObliviStore: an access reads a slot of each filled level; a put rebuilds level j with the probability 2^-(j + 1).
pub(crate) fn oblivistore(oblivistore: &ObliviStoreParameters, batch: f64) -> Traffic {
    let layout = oblivistore.layout();
    let (shape, common) = (&oblivistore.partition, &oblivistore.partitions);
    let partitions = f64::from(common.partitions);
    let waits = repeat_accesses(batch, partitions) + collision_probability(batch, partitions);
    let (inner, bytes) = (shape.levels - 1, slot(&layout));
    // Each level above the last is filled half of the time.
    let read = f64::from(inner) / 2.0 + 1.0;
    let puts = 1.0 + f64::from(common.sweep_evictions) / f64::from(common.sweep_accesses);
    let period = f64::from(inner).exp2();
    let merged = (period - 1.0 + shape.capacity as f64) / period;
    let drained: f64 =
        (0..inner).map(|level| 0.5 - f64::from(level + 1).exp2().recip()).sum::<f64>() + merged;
    let filled = f64::from(inner) + 2.0 * shape.capacity as f64 / period;
    Traffic {
        on_line: Flow { gets: read, down: read * bytes, ..Flow::default() },
        off_line: Flow { gets: drained, puts: filled, down: drained * bytes, up: filled * bytes } * puts,
        logged: Flow::default(),
        round_trips: 1.0,
        // Rebuilds of the last levels are long: about a quarter of what they write is waited for, as runs of the lab
        // show.
        waits: PendingWaits { reads: waits, writes: waits, up: 0.25 },
        burst: 0.0,
        off_line_round_trips: 0.0,
        stored: stored(&layout),
    }
}

/// PracticalOS: a slot on line; a shuffle of everything, a pass after the other, for each cache of accesses.
pub(crate) fn practical_os(practical: &PracticalOsParameters) -> Traffic {
    let layout = practical.layout();
    let (slots, runs) = (layout.slots() as f64, practical.runs().next_power_of_two());
    let (rounds, bytes) = (f64::from(runs.ilog2()), slot(&layout));
    let passes = 1.0 + rounds * (rounds + 1.0) / 2.0;
    let moved = passes * slots / f64::from(practical.cache);
    let per_run = slots / runs as f64;
    Traffic {
        on_line: Flow { gets: 1.0, down: bytes, ..Flow::default() },
        off_line: Flow { gets: moved, puts: moved, down: moved * bytes, up: moved * bytes },
        logged: Flow::default(),
        round_trips: 1.0,
        waits: PendingWaits::default(),
        burst: 0.0,
        off_line_round_trips: 2.0 * moved / per_run,
        stored: stored(&layout),
    }
}
