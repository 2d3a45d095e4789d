//! The patience with the other end of a connection: it may be slow, but not without end.
//!
//! Waiting uses patience up, and bytes give some of it back. An end that sends or takes a byte now and then, and fewer
//! than the least rate in all, is given up as one that does nothing.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The least bytes in a second that a body comes or goes with, in the mean over the time that it is waited for.
pub(crate) const MIN_RATE: u32 = 1 << 10;

/// The patience that is left.
#[derive(Debug)]
pub(crate) struct Pace {
    max: Duration,
    remaining: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Pace {
    /// So long at most, from the start and whenever it has moved on well.
    pub(crate) fn new(max: Duration) -> Self {
        Pace { max, remaining: max, waiting: None }
    }

    /// So many bytes came or went.
    pub(crate) fn on_progress(&mut self, bytes: usize) {
        if let Some((since, _)) = self.waiting.take() {
            self.remaining = self.remaining.saturating_sub(since.elapsed());
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.remaining = (self.remaining + Duration::from_secs(1) * bytes / MIN_RATE).min(self.max);
    }

    /// Waits on, until no patience is left.
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

    /// The time until an end is given up that moves so many bytes each so many seconds.
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
