//! An answer's body that knows when it was handed over.

use crate::connections::Answering;
use crate::door::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A body, and the request that it answers: while there is one, the request is at work.
pub(crate) struct AnswerBody<B> {
    body: Pin<Box<B>>,
    _answering: Answering,
}

/// An answer, or the rest of it, that there is none of: the connection ends.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Unanswered(pub(crate) BoxError);

impl<B> AnswerBody<B> {
    pub(crate) fn new(body: B, answering: Answering) -> Self {
        AnswerBody { body: Box::pin(body), _answering: answering }
    }
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>>> Body for AnswerBody<B> {
    type Data = Bytes;
    type Error = Unanswered;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Unanswered>>> {
        let frame = self.body.as_mut().poll_frame(context);
        frame.map_err(|error| Unanswered(error.into()))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
