//! A request's body that fails when nothing of it comes for too long.

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The body of a request as it comes from the network. It fails when the next piece of it does not come in time; the
/// clock runs only while a reader waits for it.
#[derive(Debug)]
pub struct RequestBody {
    body: Incoming,
    patience: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl RequestBody {
    pub(crate) fn new(body: Incoming, patience: Duration) -> Self {
        RequestBody { body, patience, waiting: None }
    }
}

/// Why a body ended early.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The client went silent.
    #[error("{TOO_LATE}")]
    TooLate,
    /// The connection failed, or its bytes are no HTTP.
    #[error(transparent)]
    Connection(#[from] hyper::Error),
}

/// The text of [`BodyError::TooLate`]: s3s wraps the error, and hands on no more than its text.
pub(crate) const TOO_LATE: &str = "the next piece of the body did not come in time";

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.waiting = None;
            return Poll::Ready(frame.map(|frame| Ok(frame?)));
        }
        let deadline = Instant::now() + self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Some(Err(BodyError::TooLate)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
