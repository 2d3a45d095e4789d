//! The minimum rate of the other end of a connection: it may be slow, but must finish.
//!
//! Waiting uses up the time that is left, and bytes give some of it back. A peer that moves a byte now and then, below
//! the minimum rate on average, is cut off like one that moves nothing.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The minimum number of bytes per second in each direction, averaged over the time that the server waits for them.
pub(crate) const MIN_RATE: u32 = 1 << 10;

/// The waiting time that is left.
#[derive(Debug)]
pub(crate) struct Pace {
    max: Duration,
    remaining: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Pace {
    /// Creates a pace with this much waiting time at most, at the start and after fast progress.
    pub(crate) fn new(max: Duration) -> Self {
        Pace { max, remaining: max, waiting: None }
    }

    /// Counts bytes that were sent or received.
    pub(crate) fn on_progress(&mut self, bytes: usize) {
        if let Some((since, _)) = self.waiting.take() {
            self.remaining = self.remaining.saturating_sub(since.elapsed());
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.remaining = (self.remaining + Duration::from_secs(1) * bytes / MIN_RATE).min(self.max);
    }

    /// Waits until no time is left.
    pub(crate) fn poll_expired(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let remaining = self.remaining;
        let (_, sleep) = self.waiting.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(tokio::time::sleep_until(now + remaining)))
        });
        sleep.as_mut().poll(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    /// Returns the seconds until a peer is cut off that moves this many bytes in this many seconds.
    async fn seconds_until_expiry(bytes: usize, seconds: u64) -> Option<u64> {
        let (mut pace, started) = (Pace::new(Duration::from_secs(60)), Instant::now());
        for _ in 0..10_000 {
            let pause = Duration::from_secs(seconds);
            if tokio::time::timeout(pause, poll_fn(|context| pace.poll_expired(context))).await.is_ok() {
                return Some(started.elapsed().as_secs());
            }
            pace.on_progress(bytes);
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_is_given_up_when_it_moves_less_than_the_least_rate() {
        assert_eq!(seconds_until_expiry(0, 1000).await, Some(60));
        assert_eq!(seconds_until_expiry(1, 8).await, Some(60));
        assert!(seconds_until_expiry(1000, 1).await.is_some_and(|seconds| seconds > 60));
        assert_eq!(seconds_until_expiry(1100, 1).await, None);
        assert_eq!(seconds_until_expiry(64 << 10, 50).await, None, "a piece now and then is fast enough");
        assert_eq!(seconds_until_expiry(1 << 30, 61).await, Some(60), "no patience is saved up");
    }
}
