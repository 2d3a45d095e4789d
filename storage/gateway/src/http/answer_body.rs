//! The body of an answer, which logs its request when the client has received it.

use crate::http::answer_check::AnswerCheck;
use crate::http::body_timeout::PolledFrame;
use crate::http::connections::AnsweringGuard;
use crate::http::protocol::{BoxError, RequestId, Verb};
use bytes::Bytes;
use http::{Method, StatusCode};
use hyper::body::{Body, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

/// A body with the request that it answers. The request counts as running while this exists, and its end is logged.
pub(crate) struct AnswerBody<B: Body> {
    body: Pin<Box<B>>,
    /// The number of bytes still to send, if known.
    remaining: Option<u64>,
    log_line: LogLine,
    answer_check: AnswerCheck,
    _answering: AnsweringGuard,
}

/// The log line of a request.
pub(crate) struct LogLine {
    pub(crate) method: Method,
    pub(crate) verb: Verb,
    pub(crate) status: StatusCode,
    pub(crate) id: RequestId,
    pub(crate) started: Instant,
}

impl LogLine {
    fn write(&self, is_whole: bool) {
        let LogLine { method, verb, status, id, started } = self;
        let milliseconds = started.elapsed().as_millis() as u64;
        let (verb, status) = (verb.as_str(), status.as_u16());
        if is_whole {
            tracing::info!(%method, verb, status, request = %id, milliseconds, "answered");
        } else {
            tracing::info!(%method, verb, status, request = %id, milliseconds, "response aborted");
        }
    }
}

/// The answer, or the rest of it, is missing: the connection ends.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct NoAnswer(pub(crate) BoxError);

impl<B: Body> AnswerBody<B> {
    /// Wraps the body of an answer whose head promises this length, if it promises one. The server stops after this
    /// many bytes, and does not request the end of the body.
    pub(crate) fn new(
        body: B,
        length: Option<u64>,
        answering: AnsweringGuard,
        log_line: LogLine,
        answer_check: AnswerCheck,
    ) -> Self {
        // The server never requests the body of an answer to HEAD or of a 304.
        let has_body = log_line.method != Method::HEAD && log_line.status != StatusCode::NOT_MODIFIED;
        let remaining = if has_body { body.size_hint().exact().or(length) } else { Some(0) };
        AnswerBody { body: Box::pin(body), remaining, log_line, answer_check, _answering: answering }
    }
}

impl<B: Body> Drop for AnswerBody<B> {
    fn drop(&mut self) {
        self.log_line.write(self.remaining == Some(0));
    }
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>>> Body for AnswerBody<B> {
    type Data = Bytes;
    type Error = NoAnswer;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame<NoAnswer> {
        let frame = self.body.as_mut().poll_frame(context);
        if matches!(&frame, Poll::Ready(Some(Ok(_)))) && !self.answer_check.allows() {
            self.remaining = None;
            return Poll::Ready(Some(Err(NoAnswer("the right to answer has run out".into()))));
        }
        match &frame {
            Poll::Ready(None) => self.remaining = Some(0),
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
                self.remaining = self.remaining.map(|remaining| remaining.saturating_sub(bytes));
            }
            Poll::Ready(Some(Err(_))) => self.remaining = None,
            Poll::Pending => {}
        }
        frame.map_err(|error| NoAnswer(error.into()))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::connections::ConnectionHandle;
    use crate::testing::CapturedLog;
    use futures::stream;

    fn answer(pieces: &'static [&'static str], length: Option<u64>) -> AnswerBody<axum::body::Body> {
        let log_line = LogLine {
            method: Method::GET,
            verb: Verb::default(),
            status: StatusCode::OK,
            id: RequestId(7),
            started: Instant::now(),
        };
        let pieces = pieces.iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from_static(piece.as_bytes())));
        let body = axum::body::Body::from_stream(stream::iter(pieces));
        AnswerBody::new(body, length, ConnectionHandle::new().answering(), log_line, AnswerCheck::default())
    }

    #[test]
    fn a_request_is_logged_when_its_answer_was_handed_over_or_given_up() {
        let log = CapturedLog::default();
        let writer = log.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            let mut context = Context::from_waker(std::task::Waker::noop());
            let mut complete = answer(&["one", "two"], None);
            while let Poll::Ready(Some(frame)) = Pin::new(&mut complete).poll_frame(&mut context) {
                assert!(frame.is_ok());
                assert_eq!(log.text(), "");
            }
            drop(complete);
            assert!(log.text().contains("answered method=GET"), "{}", log.text());
            for length in [None, Some(6)] {
                let mut remaining = answer(&["one", "two"], length);
                assert!(Pin::new(&mut remaining).poll_frame(&mut context).is_ready());
            }
            assert_eq!(log.text().matches("response aborted method=GET").count(), 2, "{}", log.text());
            // After as many bytes as the head promises, the server does not request the end.
            let mut promised = answer(&["one", "two"], Some(6));
            for _ in 0..2 {
                assert!(Pin::new(&mut promised).poll_frame(&mut context).is_ready());
            }
            drop(promised);
            assert_eq!(log.text().matches("answered method=GET").count(), 2, "{}", log.text());
        });
    }
}
