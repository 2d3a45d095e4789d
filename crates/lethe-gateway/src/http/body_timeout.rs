//! A request's body that fails when nothing of it comes for too long.

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::error::Error;
use std::io;
use std::iter::successors;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    silence: Silence,
}

impl RequestBody {
    pub(crate) fn new(body: Incoming, patience: Duration) -> Self {
        RequestBody { body, patience, waiting: None, silence: Silence::default() }
    }

    /// Tells those whom the error of the body does not reach whether it failed for its client's silence.
    pub(crate) fn silence(&self) -> Silence {
        self.silence.clone()
    }
}

/// The reason why a body ended early.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The client went silent.
    #[error("the next piece of the body did not come in time")]
    TooLate,
    /// The connection failed, or its bytes are no HTTP.
    #[error(transparent)]
    Connection(#[from] hyper::Error),
}

impl BodyError {
    /// Tells whether an error is [`BodyError::TooLate`], or has it for its cause.
    pub(crate) fn is_too_late(error: &(dyn Error + 'static)) -> bool {
        matches!(find_cause(error), Some(BodyError::TooLate))
    }
}

/// The first error of a type among an error and its causes.
pub(crate) fn find_cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    // An I/O error names as its source the source of the error that it holds, not that error.
    let below = |error: &&'e (dyn Error + 'static)| -> Option<&'e (dyn Error + 'static)> {
        let error: &'e (dyn Error + 'static) = *error;
        match error.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref().map(|error| error as &(dyn Error + 'static)),
            None => error.source(),
        }
    };
    successors(Some(error), below).find_map(|error| error.downcast_ref())
}

/// The note that a body leaves when it fails for its client's silence: a library that reads it may wrap the error in
/// one of its own that does not lead back to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence(Arc<AtomicBool>);

impl Silence {
    /// Tells whether the client went silent.
    pub(crate) fn fell(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

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
        self.silence.0.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(BodyError::TooLate)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
