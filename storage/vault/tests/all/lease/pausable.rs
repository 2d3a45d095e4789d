//! A process that is paused for a while: nothing of it runs, and time continues.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// A process that pauses at these times for this long.
pub struct PausableProcess<F> {
    process: Pin<Box<F>>,
    /// The pauses to come, the next one last.
    pauses: Vec<(Instant, Duration)>,
    stopped: Option<Pin<Box<Sleep>>>,
}

impl<F: Future> PausableProcess<F> {
    /// `pauses` are in the order of time.
    pub fn new(process: F, mut pauses: Vec<(Instant, Duration)>) -> Self {
        pauses.reverse();
        PausableProcess { process: Box::pin(process), pauses, stopped: None }
    }
}

impl<F: Future> Future for PausableProcess<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let now = Instant::now();
        while let Some((at, lasts)) = self.pauses.pop_if(|(at, _)| *at <= now) {
            let until = at + lasts;
            if until > now {
                self.stopped = Some(Box::pin(sleep_until(until)));
            }
        }
        if let Some(stopped) = &mut self.stopped {
            if stopped.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.stopped = None;
        }
        self.process.as_mut().poll(context)
    }
}
