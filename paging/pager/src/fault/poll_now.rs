//! A future over memory is ready at its first poll.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

/// The output of the future, or `None` if it has to wait.
pub(crate) fn poll_now<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
