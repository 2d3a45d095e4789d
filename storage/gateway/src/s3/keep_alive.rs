//! Answers that take long: while a copy or a completion goes on, its client gets the head and white space, as from S3.
//! A failure after that is an error document under the status 200.

use crate::http::door::BoxError;
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
const FIRST: Duration = Duration::from_secs(2);
/// The time between two signs that the work goes on.
const EVERY: Duration = Duration::from_secs(1);

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// Stands in the extensions of a request: the headers of its answer that are known, once nothing is left of it but work
/// that may take long.
#[derive(Clone, Debug, Default)]
pub(super) struct LongWork(Arc<OnceLock<HeaderMap>>);

impl LongWork {
    /// Marks that the request can no longer be refused: the head of the answer may go out from now on, with `known`.
    pub(super) fn begins<const N: usize>(
        extensions: &http::Extensions,
        known: [(HeaderName, Option<&str>); N],
    ) {
        if let Some(LongWork(begun)) = extensions.get() {
            let value = |text: &str| HeaderValue::from_str(text).ok();
            let known = known.into_iter().filter_map(|(name, text)| Some((name, value(text?)?)));
            // Each request begins its work once.
            let _ = begun.set(known.collect());
        }
    }

    fn known(&self) -> Option<&HeaderMap> {
        self.0.get()
    }
}

/// The work that finds an answer.
pub(super) type Work = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

/// The answer, or its head and a body that goes on with the work. Dropping the body drops the work.
///
/// # Errors
/// That of the work, if it ends at once.
pub(super) async fn answer(mut work: Work, long: LongWork) -> Result<Response<Body>, BoxError> {
    let mut ticks = interval_at(Instant::now() + FIRST, EVERY);
    loop {
        tokio::select! {
            biased;
            answer = &mut work => return answer,
            _ = ticks.tick() => {
                if let Some(known) = long.known() {
                    return Ok(late(work, ticks, known.clone()));
                }
            }
        }
    }
}

fn late(work: Work, ticks: Interval, known: HeaderMap) -> Response<Body> {
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
    *answer.headers_mut() = known;
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
