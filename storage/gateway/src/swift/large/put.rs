//! `multipart-manifest=put`: stores a list as a static large object.

use super::list::{FirstSegments, ListedSegment, MAX_LIST_BYTES, MAX_SEGMENTS, StoredSegment, range_of, sum};
use crate::auth::rights::Action;
use crate::catalogue::Manifest;
use crate::error::Error;
use crate::http::percent::encode_path;
use crate::swift::conditions;
use crate::swift::dates::iso;
use crate::swift::describe::{content_type, details, guess_type};
use crate::swift::full_body::read_in_memory_share;
use crate::swift::manifest::{is_static, size_and_etag};
use crate::swift::put::{created, receive};
use crate::swift::refusal::{Outcome, Refusal};
use crate::swift::target::Target;
use crate::swift::{Swift, VerbContext};
use axum::body::Body;
use http::Response;

impl Swift {
    /// Serves `multipart-manifest=put`: the body is a list of segments.
    pub(in crate::swift) async fn put_large(
        &self,
        context: &VerbContext<'_>,
        body: Body,
    ) -> Outcome<Response<Body>> {
        let conditions = conditions::of_put(&context.head.headers)?;
        let mut details = details(context.head)?;
        details.content_type.get_or_insert_with(|| guess_type(context.object()));
        context.account.check_put(context.container(), context.object(), &conditions)?;
        let text = read_in_memory_share(&self.gateway, body, MAX_LIST_BYTES).await?;
        let FirstSegments(listed) = serde_json::from_slice(&text).map_err(|error| {
            Refusal::bad_request(format!(
                "The manifest is not a list of {{path, etag, size_bytes, range}}: line {}",
                error.line()
            ))
        })?;
        // The body's share is free again before the writer needs one.
        drop(text);
        if listed.is_empty() {
            return Err(Refusal::bad_request("The manifest lists no segment."));
        }
        if listed.len() > MAX_SEGMENTS {
            return Err(Refusal::too_large(format!("Number of segments must be <= {MAX_SEGMENTS}")));
        }
        let (mut stored, mut errors) = (Vec::new(), Vec::new());
        for (index, segment) in listed.iter().enumerate() {
            match self.check_listed(context, segment) {
                Ok(segment) => stored.push(segment),
                Err(reason) => errors.push(format!("segment {}, {reason}", index + 1)),
            }
        }
        if !errors.is_empty() {
            return Err(Refusal::bad_request(format!("Errors:\n{}\n", errors.join("\n"))));
        }
        let (bytes, etag) = sum(&stored);
        if let Some(given) = context.head.header("etag")
            && !conditions::bare(given).eq_ignore_ascii_case(&etag)
        {
            return Err(Error::BadDigest("ETag").into());
        }
        details.manifest = Some(Manifest::Static { bytes, etag });
        let text = serde_json::to_vec(&stored)
            .map_err(|_| Refusal::bad_request("The manifest cannot be stored."))?;
        let length = text.len() as u64;
        context.account.check_room(context.container(), context.object(), Some(length))?;
        let written = receive(context.account, Body::from(text), Some(length)).await?;
        let object =
            context.account.link(context.container(), context.object(), written, details, conditions).await?;
        Ok(created(&object))
    }

    fn check_listed(
        &self,
        context: &VerbContext<'_>,
        listed: &ListedSegment,
    ) -> Result<StoredSegment, String> {
        let target = Target::read_within(context.account.name(), &encode_path(&listed.path));
        let target = target.map_err(|refusal| refusal.text().to_owned())?;
        let (Some(container), Some(key)) = (&target.container, &target.object) else {
            return Err("Invalid path: write /container/object".into());
        };
        let readable = self.check(context.claim, context.account.name(), Some(container), Action::Read);
        readable.map_err(|refusal| refusal.status().to_string())?;
        let segment = context.account.object(container, key).map_err(|_| "404 Not Found".to_owned())?;
        if matches!(segment.details.manifest, Some(Manifest::Dynamic { .. })) {
            return Err("A dynamic large object cannot be a segment".into());
        }
        let (bytes, hash) = size_and_etag(&segment);
        if listed.size_bytes.is_some_and(|given| given != bytes) {
            return Err("Size Mismatch".into());
        }
        if bytes == 0 {
            return Err("Too Small; each segment must be at least 1 byte".into());
        }
        let etag = listed.etag.as_deref().filter(|etag| !etag.is_empty());
        if etag.is_some_and(|etag| !conditions::bare(etag).eq_ignore_ascii_case(&hash)) {
            return Err("Etag Mismatch".into());
        }
        if listed.range.as_deref().is_some_and(|range| range_of(range, bytes).is_none()) {
            return Err("Unsatisfiable Range".into());
        }
        Ok(StoredSegment {
            name: format!("/{container}/{key}"),
            hash,
            bytes,
            content_type: content_type(&segment).to_owned(),
            last_modified: iso(segment.modified),
            range: listed.range.clone(),
            sub_slo: is_static(&segment),
        })
    }
}
