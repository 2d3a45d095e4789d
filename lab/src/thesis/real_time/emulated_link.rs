//! The link before the S3 server, in real time, with the time that the server takes. It is the model of virtual time,
//! for each request of HTTP.

use crate::virtual_time::ServerTime;
use ameles_store::{BitsPerSecond, LinkSpeed};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The link.
pub(super) struct EmulatedLink {
    speed: LinkSpeed,
    server: ServerTime,
    is_enabled: AtomicBool,
    up_free_at: Mutex<Option<Instant>>,
    down_free_at: Mutex<Option<Instant>>,
}

impl EmulatedLink {
    /// A link that is off: it delays nothing.
    pub(super) fn new(speed: LinkSpeed, server: ServerTime) -> Self {
        let (up_free_at, down_free_at) = (Mutex::default(), Mutex::default());
        EmulatedLink { speed, server, is_enabled: AtomicBool::new(false), up_free_at, down_free_at }
    }

    /// Puts the link in, or takes it out.
    pub(super) fn set_enabled(&self, is_enabled: bool) {
        self.is_enabled.store(is_enabled, Ordering::Relaxed);
    }

    /// Delays a request by its way to the server and the server's time. Returns the instant at which the server has
    /// answered, if its own work took no time.
    pub(super) async fn send_request(&self, bytes: u64, writes: bool) -> Instant {
        let now = Instant::now();
        if !self.is_enabled.load(Ordering::Relaxed) {
            return now;
        }
        let sent = transfer(&self.up_free_at, now, self.speed.up, bytes);
        let takes = if writes { self.server.put } else { self.server.get };
        let ready = sent + self.speed.round_trip / 2 + takes;
        sleep_until(ready).await;
        ready
    }

    /// Delays the answer by its way back.
    pub(super) async fn send_answer(&self, ready: Instant, bytes: u64) {
        if !self.is_enabled.load(Ordering::Relaxed) {
            return;
        }
        let sent = transfer(&self.down_free_at, ready, self.speed.down, bytes);
        sleep_until(sent + (self.speed.round_trip - self.speed.round_trip / 2)).await;
    }
}

/// Reserves the line for a transfer that is ready at an instant.
fn transfer(free_at: &Mutex<Option<Instant>>, ready: Instant, speed: BitsPerSecond, bytes: u64) -> Instant {
    if bytes == 0 {
        return ready;
    }
    let mut free_at = free_at.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let done = free_at.map_or(ready, |free| free.max(ready)) + speed.time_for(bytes);
    *free_at = Some(done);
    done
}

/// Sleeps to a tenth of a millisecond: tokio's timers have a grain of a whole one.
async fn sleep_until(due: Instant) {
    const GRAIN: Duration = Duration::from_millis(2);
    let left = due.saturating_duration_since(Instant::now());
    if left > GRAIN {
        tokio::time::sleep(left - GRAIN).await;
    }
    let left = due.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        // A sleep does not panic; a runtime that shuts down need not wait.
        let _ = tokio::task::spawn_blocking(move || std::thread::sleep(left)).await;
    }
}
