//! Static large objects: the segments in their lists, if they are unchanged.

use super::budget::PieceBudget;
use super::conflict;
use super::list::{MAX_LIST_BYTES, StoredSegment, range_of, raw};
use crate::auth::rights::Action;
use crate::catalogue::Object;
use crate::swift::content::{Piece, cut};
use crate::swift::manifest::{is_static, size_and_etag};
use crate::swift::refusal::Outcome;
use crate::swift::{Swift, VerbContext, answer, describe};
use axum::body::Body;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde_json::Value;
use std::sync::Arc;

impl Swift {
    /// Returns the pieces of a static large object.
    pub(super) fn pieces<'a>(
        &'a self,
        context: &'a VerbContext<'a>,
        object: &'a Arc<Object>,
        depth: usize,
        budget: &'a mut PieceBudget,
    ) -> BoxFuture<'a, Outcome<Vec<Piece>>> {
        async move {
            if depth == 0 {
                return Err(conflict("The large object is nested too deeply."));
            }
            let mut pieces = Vec::new();
            let list = self.stored_segments(object).await?;
            budget.spend(list.len())?;
            for stored in list {
                let segment = self.segment(context, &stored)?;
                let inner = if stored.sub_slo {
                    self.pieces(context, &segment, depth - 1, budget).await?
                } else {
                    vec![Piece::whole(&segment)]
                };
                match stored.range.as_deref().and_then(|range| range_of(range, stored.bytes)) {
                    Some(range) => pieces.extend(cut(&inner, &range)),
                    None => pieces.extend(inner),
                }
            }
            Ok(pieces)
        }
        .boxed()
    }

    /// Returns a segment, if it is unchanged.
    fn segment(&self, context: &VerbContext<'_>, stored: &StoredSegment) -> Outcome<Arc<Object>> {
        let changed = || conflict("A segment of the large object is gone, or is not what it was.");
        let (container, key) = stored.name.trim_start_matches('/').split_once('/').ok_or_else(changed)?;
        self.check(context.claim, context.account.name(), Some(container), Action::Read)?;
        let segment = context.account.object(container, key).map_err(|_| changed())?;
        let (bytes, etag) = size_and_etag(&segment);
        if (bytes, etag.as_str()) != (stored.bytes, stored.hash.as_str())
            || is_static(&segment) != stored.sub_slo
        {
            return Err(changed());
        }
        Ok(segment)
    }

    pub(super) async fn stored_segments(&self, object: &Arc<Object>) -> Outcome<Vec<StoredSegment>> {
        let text = self.list_bytes(object).await?;
        serde_json::from_slice(&text).map_err(|_| conflict("The list of segments cannot be read."))
    }

    async fn list_bytes(&self, object: &Arc<Object>) -> Outcome<Bytes> {
        let mut text = Vec::new();
        if object.bytes() as usize > MAX_LIST_BYTES * 2 {
            return Err(conflict("The list of segments is too long."));
        }
        let mut reader = self.gateway.read(object, None).await?;
        while let Some(piece) = reader.next().await {
            text.extend_from_slice(&piece?);
        }
        // The reader's share is free again before the list needs one.
        drop(reader);
        let share = self.gateway.inner.memory.take_bytes(text.len() as u64)?;
        Ok(share.holding(text))
    }

    /// Serves `multipart-manifest=get` of a static large object: returns its list.
    pub(in crate::swift) async fn show_manifest(
        &self,
        context: &VerbContext<'_>,
        object: &Arc<Object>,
    ) -> Outcome<Response<Body>> {
        let text = self.list_bytes(object).await?;
        let text = match context.head.query.get("format") {
            Some("raw") => {
                let list: Vec<StoredSegment> = serde_json::from_slice(&text)
                    .map_err(|_| conflict("The list of segments cannot be read."))?;
                Value::from_iter(list.iter().map(raw)).to_string().into()
            }
            _ => text,
        };
        let mut answer = answer::empty(StatusCode::OK);
        describe::describe(answer.headers_mut(), object, &object.etag, context.head, context.claim);
        let kind = HeaderValue::from_static("application/json; charset=utf-8");
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        *answer.body_mut() = Body::from(text);
        Ok(answer)
    }
}
