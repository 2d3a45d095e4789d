//! The costs of a scheme with a block size: the monthly bill, and the mean time to read one object.

use super::traffic::{Flow, Traffic};
use super::work::{BATCH, Work};
use ameles_store::{Bill, BitsPerSecond, Usage};
use std::time::Duration;

/// The number of requests in flight at most.
const IN_FLIGHT: f64 = 64.0;
/// The part of a round trip in which the line is idle, fitted to runs of the lab.
const IDLE: f64 = 0.75;

/// The figures of a scheme with a block size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The bill of a month.
    pub bill: Bill,
    /// The mean time to read one object, when objects are read one after the other.
    pub time: Duration,
    /// The number of bytes of the store.
    pub stored: u64,
    /// The requests of a month, and the bytes each way.
    pub month: Flow,
}

impl Figures {
    /// Dollars a month, storage with them.
    pub fn dollars(&self) -> f64 {
        self.bill.spent() + self.bill.storage_per_month
    }

    /// The figures of the work with no ORAM: a request for each object.
    pub(super) fn plain(work: &Work) -> Self {
        let mean = work.sizes.mean(|size| size as f64);
        let month =
            Flow { gets: work.reads, puts: work.writes, down: work.reads * mean, up: work.writes * mean };
        let time = work.speed.round_trip + work.server.get + transfer_time(work.speed.down, mean);
        Figures { bill: bill(work, &month, work.capacity as f64, 0.0), time, stored: work.capacity, month }
    }

    /// The figures of the work through an ORAM.
    pub(crate) fn of(work: &Work, block_bytes: u64, traffic: &Traffic) -> Self {
        let blocks = |size: u64| size.div_ceil(block_bytes).max(1);
        let accesses = work.sizes.mean(|size| blocks(size) as f64);
        let batches = work.sizes.mean(|size| blocks(size).div_ceil(BATCH) as f64);
        let one = traffic.on_line + traffic.off_line + traffic.logged;
        let month = one * (accesses * (work.reads + work.writes));
        let bill = bill(work, &month, traffic.stored, month.puts);
        let time = time(work, traffic, accesses, batches);
        Figures { bill, time, stored: traffic.stored as u64, month }
    }
}

fn bill(work: &Work, month: &Flow, stored: f64, removals: f64) -> Bill {
    work.prices.bill(&Usage {
        slot_reads: month.gets.round() as u64,
        bucket_writes: month.puts.round() as u64,
        bucket_deletes: removals.round() as u64,
        bytes_down: month.down.round() as u64,
        bytes_up: month.up.round() as u64,
        stored_bytes: stored.round() as u64,
        ..Usage::default()
    })
}

/// The time for bytes on a line; 0 bits a second have no limit.
fn transfer_time(line: BitsPerSecond, bytes: f64) -> Duration {
    if line.0 == 0 { Duration::ZERO } else { Duration::from_secs_f64(bytes * 8.0 / line.0 as f64) }
}

/// The mean time of an object in a row of reads. It is the longest of five times. The first is the time of the batches
/// in sequence, with the pending work that they wait for. The next two are the line's times, one for each direction.
/// The fourth is the time of the pending work in sequence. The last is the time of the requests, with at most
/// [`IN_FLIGHT`] of them in flight.
fn time(work: &Work, traffic: &Traffic, accesses: f64, batches: f64) -> Duration {
    let Work { speed, server, .. } = work;
    let Traffic { on_line, off_line, waits, .. } = traffic;
    let (get, put) = (speed.round_trip + server.get, speed.round_trip + server.put);
    let all = *on_line + *off_line + traffic.logged;
    let read =
        get.mul_f64(batches * traffic.round_trips) + transfer_time(speed.down, accesses * on_line.down);
    let logged =
        put.mul_f64(accesses * traffic.logged.puts) + transfer_time(speed.up, accesses * traffic.logged.up);
    let in_turn = read.max(logged)
        + get.mul_f64(batches * waits.reads)
        + put.mul_f64(batches * waits.writes)
        + transfer_time(speed.down, accesses * off_line.down).mul_f64(blocking_share(traffic, work))
        + transfer_time(speed.up, accesses * off_line.up).mul_f64(waits.up);
    let down = transfer_time(speed.down, accesses * all.down);
    let up = transfer_time(speed.up, accesses * all.up);
    let pending = (get + put).mul_f64(accesses * traffic.off_line_round_trips / 2.0)
        + transfer_time(speed.down, accesses * off_line.down) / 2
        + transfer_time(speed.up, accesses * off_line.up) / 2;
    let in_flight = (get.mul_f64(all.gets) + put.mul_f64(all.puts)).mul_f64(accesses / IN_FLIGHT);
    in_turn.max(down).max(up).max(pending).max(in_flight)
}

/// The part of the pending reads that delays accesses: the part of a burst that is longer than the idle time of the
/// line.
fn blocking_share(traffic: &Traffic, work: &Work) -> f64 {
    let burst = transfer_time(work.speed.down, traffic.burst * traffic.off_line.down);
    if burst.is_zero() {
        return 1.0;
    }
    let idle = (work.speed.round_trip + work.server.get).mul_f64(IDLE);
    burst.saturating_sub(idle).as_secs_f64() / burst.as_secs_f64()
}
