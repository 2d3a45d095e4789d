//! A simulated network link to the store: a round-trip time, and a bandwidth in each direction.

use crate::blobs::{Blob, BlobError, Blobs, Inventory};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// A bandwidth in bits per second; 0 means unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitsPerSecond(pub u64);

impl BitsPerSecond {
    /// A bandwidth in millions of bits per second.
    pub const fn mega(millions: u64) -> Self {
        BitsPerSecond(millions * 1_000_000)
    }

    /// The time that the line is busy with that many bytes, to the nanosecond, rounded up.
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::ZERO;
        }
        let nanos = (u128::from(bytes) * 8 * 1_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The speed of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpeed {
    /// The time from a request to its answer, both empty. Half of it passes each way.
    pub round_trip: Duration,
    /// The bandwidth towards the store.
    pub up: BitsPerSecond,
    /// The bandwidth from the store.
    pub down: BitsPerSecond,
}

impl LinkSpeed {
    /// A link of unlimited bandwidth.
    pub fn unlimited(round_trip: Duration) -> Self {
        LinkSpeed { round_trip, up: BitsPerSecond(0), down: BitsPerSecond(0) }
    }
}

/// Delays the calls to the store below as a full-duplex link would, in tokio's time.
///
/// Bytes of payload wait in a queue for the bandwidth of their direction, first come, first served. Latencies overlap.
/// Requests and answers without payload do not wait in the queue. A request takes effect below when it has arrived
/// there whole, and its answer is sent when the store below has returned it.
///
/// Needs a tokio runtime with time. Tokio's timers have a grain of a millisecond; see [`precise`](Self::precise).
#[derive(Debug)]
pub struct Link<S> {
    inner: S,
    speed: LinkSpeed,
    precise: bool,
    up_free_at: Mutex<Option<Instant>>,
    down_free_at: Mutex<Option<Instant>>,
}

impl<S> Link<S> {
    /// A link of this speed to `inner`.
    pub fn new(inner: S, speed: LinkSpeed) -> Self {
        Link { inner, speed, precise: false, up_free_at: Mutex::default(), down_free_at: Mutex::default() }
    }

    /// Waits to about a tenth of a millisecond instead of tokio's whole one: the last stretch of each wait sleeps on
    /// another thread. For measuring in real time; under tokio's paused time it would wait forever.
    pub fn precise(mut self) -> Self {
        self.precise = true;
        self
    }

    /// The store below.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    async fn wait_until(&self, due: Instant) {
        if !self.precise {
            sleep_until(due).await;
            return;
        }
        /// The time by which Tokio may be late. The precise sleep waits for it.
        const GRAIN: Duration = Duration::from_millis(2);
        if due.saturating_duration_since(Instant::now()) > GRAIN {
            sleep_until(due - GRAIN).await;
        }
        let left = due.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            tokio::task::spawn_blocking(move || std::thread::sleep(left))
                .await
                .expect("a sleep does not panic");
        }
    }

    /// Delays a request on its way to the store.
    async fn up(&self, bytes: usize) {
        let sent = transfer(&self.up_free_at, self.speed.up, bytes);
        self.wait_until(sent + self.speed.round_trip / 2).await;
    }

    /// Delays an answer on its way back.
    async fn down(&self, bytes: usize) {
        let sent = transfer(&self.down_free_at, self.speed.down, bytes);
        let half = self.speed.round_trip - self.speed.round_trip / 2;
        self.wait_until(sent + half).await;
    }
}

/// Reserves the line for a transfer that starts now, and returns when its last byte is sent.
fn transfer(free_at: &Mutex<Option<Instant>>, speed: BitsPerSecond, bytes: usize) -> Instant {
    let now = Instant::now();
    if bytes == 0 {
        return now;
    }
    let mut free_at = free_at.lock().expect("no holder of the line panicked");
    let start = free_at.map_or(now, |free| free.max(now));
    let done = start + speed.time_for(bytes as u64);
    *free_at = Some(done);
    done
}

impl<S: Untrusted> Untrusted for Link<S> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.up(0).await;
        let len = into.len();
        let answer = self.inner.read(places, into).await;
        self.down(if answer.is_ok() { len } else { 0 }).await;
        answer
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        self.up(from.len()).await;
        let answer = self.inner.write(buckets, from).await;
        self.down(0).await;
        answer
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.up(0).await;
        let answer = self.inner.delete(buckets).await;
        self.down(0).await;
        answer
    }
}

impl<S: Blobs> Blobs for Link<S> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.up(bytes.len()).await;
        let answer = self.inner.put(name, bytes).await;
        self.down(0).await;
        answer
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.up(bytes.len()).await;
        let answer = self.inner.put_if_absent(name, bytes).await;
        self.down(0).await;
        answer
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.up(0).await;
        let answer = self.inner.get(name, max).await;
        let len = match &answer {
            Ok(Some(bytes)) => bytes.len(),
            _ => 0,
        };
        self.down(len).await;
        answer
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        self.up(0).await;
        let answer = self.inner.list(prefix).await;
        self.down(0).await;
        answer
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.up(0).await;
        let answer = self.inner.remove(name).await;
        self.down(0).await;
        answer
    }
}

impl<S: Inventory> Inventory for Link<S> {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        self.up(0).await;
        let answer = self.inner.list_bucket_versions(found).await;
        self.down(0).await;
        answer
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.inner.sweep_unfinished().await
    }
}
