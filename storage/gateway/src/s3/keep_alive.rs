//! Answers that take long: while a copy or a completion goes on, its client gets the head and white space, as from S3.
//! A failure after that is an error document under the status 200.

use crate::http::protocol::BoxError;
use bytes::Bytes;
use futures::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use s3s::Body;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{Instant, Interval, interval_at};

/// The longest time that a client hears nothing. Some give up after three seconds, and a head that goes out before the work
/// is done lacks what only its end tells.
const FIRST_DELAY: Duration = Duration::from_secs(2);
/// The time between two signs that the work goes on.
const INTERVAL: Duration = Duration::from_secs(1);

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// Stands in the extensions of a request: the headers of its answer that are known, once nothing is left of it but work
/// that may take long.
#[derive(Clone, Debug, Default)]
pub(super) struct LongWork(Arc<OnceLock<HeaderMap>>);

impl LongWork {
    /// Marks that the request can no longer be refused: the head of the answer may go out from now on, with `headers`.
    pub(super) fn begin<const N: usize>(
        extensions: &http::Extensions,
        headers: [(HeaderName, Option<&str>); N],
    ) {
        if let Some(LongWork(cell)) = extensions.get() {
            let value = |text: &str| HeaderValue::from_str(text).ok();
            let headers = headers.into_iter().filter_map(|(name, text)| Some((name, value(text?)?)));
            // Each request begins its work once.
            let _ = cell.set(headers.collect());
        }
    }

    fn headers(&self) -> Option<&HeaderMap> {
        self.0.get()
    }
}

/// The work that finds an answer.
pub(super) type AnswerFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

/// The answer, or its head and a body that goes on with the work. Dropping the body drops the work.
///
/// # Errors
/// That of the work, if it ends at once.
pub(super) async fn answer(mut work: AnswerFuture, long: LongWork) -> Result<Response<Body>, BoxError> {
    let mut ticks = interval_at(Instant::now() + FIRST_DELAY, INTERVAL);
    loop {
        tokio::select! {
            biased;
            answer = &mut work => return answer,
            _ = ticks.tick() => {
                if let Some(headers) = long.headers() {
                    return Ok(stream_answer(work, ticks, headers.clone()));
                }
            }
        }
    }
}

fn stream_answer(work: AnswerFuture, ticks: Interval, headers: HeaderMap) -> Response<Body> {
    let first = stream::once(async { Ok(Bytes::from_static(DECLARATION.as_bytes())) });
    let rest = stream::unfold(Some((work, ticks)), |state| async {
        let (mut work, mut ticks) = state?;
        tokio::select! {
            biased;
            answer = &mut work => Some((answer.map(document), None)),
            _ = ticks.tick() => Some((Ok(Bytes::from_static(b" ")), Some((work, ticks)))),
        }
    });
    let body = axum::body::Body::from_stream(stream::StreamExt::chain(first, rest));
    let mut answer = Response::new(Body::http_body_unsync(body));
    *answer.headers_mut() = headers;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    answer
}

/// The document of the answer, without the declaration that went ahead.
fn document(answer: Response<Body>) -> Bytes {
    // Every verb that is answered so has an answer in memory.
    let whole = answer.into_body().take_bytes().unwrap_or_default();
    match whole.strip_prefix(DECLARATION.as_bytes()) {
        Some(rest) => whole.slice_ref(rest),
        None => whole,
    }
}
