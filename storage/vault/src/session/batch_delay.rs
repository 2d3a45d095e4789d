//! The delay of a batch. Callers that were just answered often ask again at once. If a batch started without them, they
//! would have to wait for the next one. The two groups would alternate, each with a half-full batch and a round trip
//! each.
//!
//! So the next batch waits until as many calls have arrived as were in flight or waiting when the last batch ended. It
//! waits for at most a small share of the last batch's time. A lone caller never waits: it was the only one in flight.
//! Nor does a batch wait while others are in flight.

use std::time::Duration;
use tokio::time::Instant;

/// The next batch waits for at most this fraction of the last batch's time.
const SHARE: u32 = 16;
/// The shortest wait that a timer can keep. If the wait would be shorter, because the store is near, batches do not
/// wait.
const MIN: Duration = Duration::from_millis(1);

/// The delay before the next batch.
pub(super) struct BatchDelay {
    /// The wait that the last batch's time allows.
    wait: Duration,
    /// The number of calls for which the next batch waits, and the end of its wait.
    expected: usize,
    until: Instant,
}

impl BatchDelay {
    /// A delay before any batch has run: the first batch does not wait.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        BatchDelay { wait: Duration::ZERO, expected: 0, until: now }
    }

    /// Records that a batch is answered, with its start and its calls, while `waiting` calls wait for the next one.
    pub(super) fn on_batch_answered(&mut self, (began, calls): (Instant, usize), waiting: usize) {
        let now = Instant::now();
        self.wait = (now - began) / SHARE;
        self.expected = calls + waiting;
        self.until = if self.is_store_far() { now + self.wait } else { now };
    }

    /// Returns whether the last batch took so long that the next one may wait: the store is far.
    pub(super) fn is_store_far(&self) -> bool {
        self.wait >= MIN
    }

    /// The end of the wait for more calls, if a batch of at most `max` calls must wait although `waiting` calls are
    /// there.
    pub(super) fn deadline(&self, waiting: usize, max: usize) -> Option<Instant> {
        let waits = waiting < self.expected.min(max) && Instant::now() < self.until;
        waits.then_some(self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn after_a_batch(of: usize, took: Duration, waiting: usize) -> BatchDelay {
        let mut batch_delay = BatchDelay::new();
        let began = Instant::now();
        tokio::time::advance(took).await;
        batch_delay.on_batch_answered((began, of), waiting);
        batch_delay
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_waits_a_sixteenth_of_the_last_for_the_callers_that_were_answered() {
        let batch_delay = after_a_batch(11, Duration::from_millis(64), 5).await;
        let until = Instant::now() + Duration::from_millis(4);
        assert_eq!(batch_delay.deadline(5, 16), Some(until));
        assert_eq!(batch_delay.deadline(15, 16), Some(until));
        assert_eq!(batch_delay.deadline(16, 16), None, "all are there");
        assert_eq!(batch_delay.deadline(8, 8), None, "no more fit a batch");
        tokio::time::advance(Duration::from_millis(4)).await;
        assert_eq!(batch_delay.deadline(5, 16), None, "some have gone away");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lone_caller_never_waits() {
        let batch_delay = after_a_batch(1, Duration::from_millis(64), 0).await;
        assert_eq!(batch_delay.deadline(1, 16), None);
        assert_eq!(BatchDelay::new().deadline(1, 16), None, "nor the first of all");
    }

    #[tokio::test(start_paused = true)]
    async fn batches_over_a_near_store_do_not_wait() {
        let batch_delay = after_a_batch(11, Duration::from_millis(15), 5).await;
        assert_eq!(batch_delay.deadline(5, 16), None);
    }
}
