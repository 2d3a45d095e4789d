//! A link and the store behind it: the instant at which the answer to a request arrives, and the counts of all
//! requests.

use ameles_store::{BitsPerSecond, LinkSpeed, Usage};
use std::collections::VecDeque;
use std::time::Duration;

/// A link and a store, as a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkModel {
    /// The round trip, and the bandwidth in each direction.
    pub speed: LinkSpeed,
    /// The time that the store takes for a request, without the time on the link.
    pub server: ServerTime,
    /// The bandwidth that a single request gets at most, as a lossy link gives one connection; 0 for all of it.
    pub request_bandwidth: BitsPerSecond,
    /// The maximum number of requests in flight; others wait for their turn. At least 1.
    pub in_flight: usize,
}

/// The time that a store takes for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerTime {
    /// The time for a request that reads.
    pub get: Duration,
    /// The time for a request that writes.
    pub put: Duration,
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// A range of slots, or an object.
    Get,
    /// A bucket, or an object.
    Put,
    /// A read of a record that a scheme stores with its buckets.
    GetMetadata,
    /// A write of a record that a scheme stores with its buckets.
    PutMetadata,
}

/// A link in use.
///
/// Payload waits in the queue of its direction for bandwidth, first come, first served. Requests and answers without
/// payload do not wait there. Latencies overlap. While `in_flight` requests are in flight, the next one waits for the
/// earliest answer.
///
/// The instant of an answer is known when its request is sent, because later requests never overtake earlier ones in a
/// queue. No request carries payload in both directions, and the store takes the same time for all that carry it in the
/// same direction.
#[derive(Debug)]
pub struct Network {
    model: LinkModel,
    up_free_at: Duration,
    down_free_at: Duration,
    /// The instants at which those in flight are answered, the earliest first. Most answers come after all others, so
    /// they are not a heap.
    answer_times: VecDeque<Duration>,
    usage: Usage,
}

impl Network {
    /// A link that was never used.
    pub fn new(model: LinkModel) -> Self {
        Network {
            model,
            up_free_at: Duration::ZERO,
            down_free_at: Duration::ZERO,
            answer_times: VecDeque::new(),
            usage: Usage::default(),
        }
    }

    /// The counts so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Sends a request that carries this many bytes up (a write) or down (a read). Returns the instant of its answer.
    pub fn request(&mut self, now: Duration, kind: RequestKind, bytes: u64) -> Duration {
        let LinkModel { speed, server, request_bandwidth, .. } = self.model;
        let (up, down, server_time) = match kind {
            RequestKind::Put | RequestKind::PutMetadata => (bytes, 0, server.put),
            RequestKind::Get | RequestKind::GetMetadata => (0, bytes, server.get),
        };
        self.count(kind, up, down);
        let mut start = now;
        while self.answer_times.len() >= self.model.in_flight.max(1)
            && let Some(free) = self.answer_times.pop_front()
        {
            start = start.max(free);
        }
        let sent = transfer(&mut self.up_free_at, start, speed.up.time_for(up));
        let ready = sent.max(start + request_bandwidth.time_for(up)) + speed.round_trip / 2 + server_time;
        let answered = transfer(&mut self.down_free_at, ready, speed.down.time_for(down));
        let answered = answered.max(ready + request_bandwidth.time_for(down));
        let answered = answered + (speed.round_trip - speed.round_trip / 2);
        self.note_answer(answered);
        answered
    }

    /// Notes when a request is answered, before all later answers.
    fn note_answer(&mut self, answered: Duration) {
        let mut at = self.answer_times.len();
        while at > 0 && self.answer_times[at - 1] > answered {
            at -= 1;
        }
        self.answer_times.insert(at, answered);
    }

    /// Counts removals. They take no bandwidth, and nothing waits for them.
    pub fn remove(&mut self, objects: u64) {
        self.usage.bucket_deletes += objects;
    }

    fn count(&mut self, kind: RequestKind, up: u64, down: u64) {
        let usage = &mut self.usage;
        match kind {
            RequestKind::Get => usage.slot_reads += 1,
            RequestKind::Put => usage.bucket_writes += 1,
            RequestKind::GetMetadata => usage.blob_reads += 1,
            RequestKind::PutMetadata => usage.blob_writes += 1,
        }
        usage.bytes_up += up;
        usage.bytes_down += down;
    }
}

/// Reserves the line for a transfer that is ready at an instant and takes this long. Returns the instant at which its
/// last byte is sent.
fn transfer(free_at: &mut Duration, ready: Duration, duration: Duration) -> Duration {
    if duration.is_zero() {
        return ready;
    }
    *free_at = ready.max(*free_at) + duration;
    *free_at
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    /// 10 ms of round trip, 8 kbit/s up, 16 kbit/s down: a byte takes 1 ms up and half of one down.
    fn network(server: ServerTime, in_flight: usize) -> Network {
        let speed =
            LinkSpeed { round_trip: 10 * MILLI, up: BitsPerSecond(8_000), down: BitsPerSecond(16_000) };
        Network::new(LinkModel { speed, server, request_bandwidth: BitsPerSecond(0), in_flight })
    }

    #[test]
    fn an_answer_comes_after_round_trip_server_and_bytes() {
        let mut network = network(ServerTime { get: 3 * MILLI, put: 5 * MILLI }, 9);
        assert_eq!(network.request(Duration::ZERO, RequestKind::Get, 4), (10 + 3 + 2) * MILLI);
        let later = 100 * MILLI;
        assert_eq!(network.request(later, RequestKind::Put, 4), later + (10 + 5 + 4) * MILLI);
    }

    #[test]
    fn bytes_queue_in_their_direction_and_round_trips_do_not() {
        let mut network = network(ServerTime::default(), 9);
        let at = |kind| [20, 20, 0].map(|bytes| network.request(Duration::ZERO, kind, bytes));
        let mut at = at;
        assert_eq!(at(RequestKind::Get), [20 * MILLI, 30 * MILLI, 10 * MILLI]);
        assert_eq!(at(RequestKind::Put), [30 * MILLI, 50 * MILLI, 10 * MILLI]);
    }

    #[test]
    fn a_request_without_room_waits_for_the_earliest_answer() {
        let mut network = network(ServerTime::default(), 2);
        let mut get = |bytes| network.request(Duration::ZERO, RequestKind::Get, bytes);
        assert_eq!([get(20), get(0)], [20 * MILLI, 10 * MILLI]);
        assert_eq!([get(0), get(0)], [20 * MILLI, 30 * MILLI]);
    }

    #[test]
    fn a_request_gets_no_more_than_a_stream_and_several_share_the_link() {
        let mut network = network(ServerTime::default(), 9);
        // 4 kbit/s: a byte takes 2 ms, where the link takes half of one.
        network.model.request_bandwidth = BitsPerSecond(4_000);
        let at = [20, 20, 20].map(|bytes| network.request(Duration::ZERO, RequestKind::Get, bytes));
        assert_eq!(at, [50 * MILLI; 3]);
    }

    #[test]
    fn requests_and_bytes_are_counted_by_kind() {
        let mut network = network(ServerTime::default(), 1);
        for (kind, bytes) in [
            (RequestKind::Get, 1),
            (RequestKind::Put, 20),
            (RequestKind::Put, 30),
            (RequestKind::GetMetadata, 4),
            (RequestKind::PutMetadata, 5),
        ] {
            network.request(Duration::ZERO, kind, bytes);
        }
        network.remove(3);
        let usage = network.usage();
        assert_eq!((usage.gets(), usage.puts(), usage.deletes()), (2, 3, 3));
        assert_eq!((usage.bytes_down, usage.bytes_up), (5, 55));
    }
}
