//! Futures over memory, which are ready at once.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Returns the output of a future over memory.
///
/// # Panics
/// If the future waits: memory always answers at once.
pub(crate) fn expect_ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a future over memory waits for something"),
    }
}
