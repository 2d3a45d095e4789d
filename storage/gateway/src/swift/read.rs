//! The verbs that return an object, or the facts about it.

use super::answer::empty;
use super::byteranges::Frame;
use super::conditions::{self, Verdict};
use super::content::{self, Content, MemoryWait};
use super::describe::{content_type, describe};
use super::manifest;
use super::metadata::put;
use super::range::{self, RequestedRanges};
use super::refusal::{Outcome, unsatisfiable};
use super::{Swift, VerbContext};
use crate::error::Error;
use axum::body::Body;
use base16ct::lower::encode_string as hex;
use bytes::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use std::ops::Range;

impl Swift {
    /// Serves `GET` and `HEAD` of an object.
    pub(super) async fn read(&self, context: &VerbContext<'_>) -> Outcome<Response<Body>> {
        self.check_read(context.claim, &context.target.account, context.container(), context.object())?;
        let object = context.account.object(context.container(), context.object())?;
        if context.head.query.get("multipart-manifest") == Some("get") {
            if manifest::is_static(&object) {
                return self.show_manifest(context, &object).await;
            }
            let content = Content::plain(&object);
            return self.answer(context, &object, content).await;
        }
        // The catalogue has the facts about a static large object: a head reads nothing.
        if context.head.is_head()
            && let Some((bytes, etag)) = manifest::known_size(&object)
        {
            return Ok(answer_head(context, &object, bytes, &etag));
        }
        let content = self.content(context, &object).await?;
        self.answer(context, &object, content).await
    }

    async fn answer(
        &self,
        context: &VerbContext<'_>,
        object: &crate::catalogue::Object,
        content: Content,
    ) -> Outcome<Response<Body>> {
        let bytes = content.bytes();
        let mut answer = answer_head(context, object, bytes, &content.etag);
        if context.head.is_head() || answer.status() != StatusCode::OK {
            return Ok(answer);
        }
        let body = match range::requested(&context.head.headers, bytes) {
            RequestedRanges::Nothing => return Err(unsatisfiable(bytes)),
            RequestedRanges::All => content::read(&self.gateway, content.pieces, MemoryWait::AfterTheFirst),
            RequestedRanges::Ranges(ranges) => {
                *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
                match ranges.as_slice() {
                    [range] => {
                        let (first, last) = (range.start, range.end - 1);
                        put(
                            answer.headers_mut(),
                            CONTENT_RANGE.as_str(),
                            &format!("bytes {first}-{last}/{bytes}"),
                        );
                        answer
                            .headers_mut()
                            .insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
                        content::read(&self.gateway, content.cut(range), MemoryWait::AfterTheFirst)
                    }
                    ranges => {
                        let frame = Frame::new(boundary()?, content_type(object).to_owned(), bytes);
                        put(answer.headers_mut(), CONTENT_TYPE.as_str(), &frame.content_type());
                        answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(frame.length(ranges)));
                        self.framed(&frame, ranges, &content)
                    }
                }
            }
        };
        *answer.body_mut() = with_first_bytes(body).await?;
        Ok(answer)
    }

    /// Returns several ranges, each between its frame's lines.
    fn framed(
        &self,
        frame: &Frame,
        ranges: &[Range<u64>],
        content: &Content,
    ) -> BoxStream<'static, Result<Bytes, Error>> {
        let mut parts: Vec<BoxStream<'static, Result<Bytes, Error>>> = Vec::new();
        let line = |bytes: Bytes| stream::once(async move { Ok(bytes) }).boxed();
        for range in ranges {
            parts.push(line(frame.before(range)));
            parts.push(content::read(&self.gateway, content.cut(range), MemoryWait::Always));
            parts.push(line(frame.after()));
        }
        parts.push(line(frame.end()));
        stream::iter(parts).flatten().boxed()
    }
}

/// Returns the head of an answer, with the whole length, or with 304 or 412 if a condition requires it.
fn answer_head(
    context: &VerbContext<'_>,
    object: &crate::catalogue::Object,
    bytes: u64,
    etag: &str,
) -> Response<Body> {
    let verdict = conditions::check(&context.head.headers, conditions::bare(etag), object.modified);
    if let Verdict::Failed(condition) = verdict {
        return conditions::failed(condition).into_response(&context.head.method);
    }
    let mut answer = empty(StatusCode::OK);
    describe(answer.headers_mut(), object, etag, context.head, context.claim);
    if let Verdict::NotModified = verdict {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        return answer;
    }
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes));
    answer
}

/// Returns a body whose first bytes have arrived. A failure before them becomes a status, and a later failure ends the
/// connection.
pub(super) async fn with_first_bytes(
    mut body: impl Stream<Item = Result<Bytes, Error>> + Send + Unpin + 'static,
) -> Outcome<Body> {
    let first = match body.next().await {
        Some(first) => first?,
        None => return Ok(Body::empty()),
    };
    Ok(Body::from_stream(stream::once(async move { Ok(first) }).chain(body)))
}

/// Returns a line that occurs in an object only by chance: 128 random bits.
fn boundary() -> Outcome<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| {
        super::refusal::Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "The system returned no random numbers.",
        )
    })?;
    Ok(hex(&random))
}
