//! The body of a request, which fails when it arrives too slowly, and begins the request's work when it arrives.

use crate::http::admission::{Overloaded, RequestAdmission};
use crate::http::pace::Pace;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::error::Error;
use std::io;
use std::iter::successors;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The body of a request as it arrives from the network. It fails when its client is too slow; the time counts only
/// while a reader waits for the body.
#[derive(Debug)]
pub struct RequestBody {
    body: Incoming,
    pace: Pace,
    request_admission: RequestAdmission,
}

impl RequestBody {
    pub(crate) fn new(body: Incoming, max_wait: Duration, request_admission: RequestAdmission) -> Self {
        RequestBody { body, pace: Pace::new(max_wait), request_admission }
    }
}

/// The reason why a body ended early.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The client sent nothing, or less than the minimum rate.
    #[error("the request body did not arrive in time")]
    TooLate,
    /// The body arrived, and no permit was free for its request.
    #[error(transparent)]
    Overloaded(#[from] Overloaded),
    /// The connection failed, or its bytes are not HTTP.
    #[error(transparent)]
    Connection(#[from] hyper::Error),
}

/// Returns the first error of this type among an error and its causes.
pub(crate) fn find_cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    // The source of an I/O error is the source of the error inside it, not that error.
    let below = |error: &&'e (dyn Error + 'static)| -> Option<&'e (dyn Error + 'static)> {
        let error: &'e (dyn Error + 'static) = *error;
        match error.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref().map(|error| error as &(dyn Error + 'static)),
            None => error.source(),
        }
    };
    successors(Some(error), below).find_map(|error| error.downcast_ref())
}

/// The answer of a body that is polled.
pub(crate) type PolledFrame<E> = Poll<Option<Result<Frame<Bytes>, E>>>;

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame<BodyError> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            if let Some(Ok(frame)) = &frame {
                this.pace.on_progress(frame.data_ref().map_or(0, Bytes::len));
                this.request_admission.begin()?;
            }
            return Poll::Ready(frame.map(|frame| Ok(frame?)));
        }
        ready!(this.pace.poll_expired(context));
        Poll::Ready(Some(Err(BodyError::TooLate)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
