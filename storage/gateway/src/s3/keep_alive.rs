//! Answers that take long: during a copy or a completion, the client receives the head and white space, as from S3. A
//! later failure is an error document under the status 200.

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

/// The longest time in which a client receives nothing. Some give up after three seconds. A head that is sent before
/// the work is done lacks what only the end shows.
const FIRST_DELAY: Duration = Duration::from_secs(2);
/// The interval between two spaces.
const INTERVAL: Duration = Duration::from_secs(1);

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// An extension of a request: the known headers of its answer, once only long work is left.
#[derive(Clone, Debug, Default)]
pub(super) struct LongWork(Arc<OnceLock<HeaderMap>>);

impl LongWork {
    /// Marks that the request can no longer be refused: the head of the answer may be sent from now on, with `headers`.
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

/// The future of an answer.
pub(super) type AnswerFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

/// Returns the answer, or its head with a body that continues the work. Dropping the body drops the work.
///
/// # Errors
/// The error of the work, if it ends before the first delay.
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

/// Returns the document of the answer, without the XML declaration that was sent before.
fn document(answer: Response<Body>) -> Bytes {
    // Every verb with long work has its answer in memory.
    let whole = answer.into_body().take_bytes().unwrap_or_default();
    match whole.strip_prefix(DECLARATION.as_bytes()) {
        Some(rest) => whole.slice_ref(rest),
        None => whole,
    }
}
