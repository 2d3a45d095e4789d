//! A future that can be killed: it is dropped at an await point.

use crate::support::fragile_disk::FragileDisk;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Polls a future until it ends, until it has waited a number of times, or until the power fails. The result is `None`
/// if the future did not end.
///
/// The disk is unplugged before the future is dropped, so that the drop cannot change the disk.
pub struct KillableFuture<F> {
    future: Option<Pin<Box<F>>>,
    disk: FragileDisk,
    waits_left: Option<u64>,
}

impl<F: Future> KillableFuture<F> {
    pub fn new(future: F, disk: FragileDisk, waits: Option<u64>) -> Self {
        KillableFuture { future: Some(Box::pin(future)), disk, waits_left: waits }
    }
}

impl<F: Future> Future for KillableFuture<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.future.as_mut().expect("it is not polled after its end");
        let polled = future.as_mut().poll(context);
        let has_failed = self.disk.has_failed();
        let is_over = match (&polled, &mut self.waits_left) {
            (Poll::Pending, Some(0)) => true,
            (Poll::Pending, Some(left)) => {
                *left -= 1;
                false
            }
            _ => false,
        };
        if has_failed || is_over {
            self.disk.unplug();
            self.future = None;
            return Poll::Ready(None);
        }
        polled.map(Some)
    }
}
