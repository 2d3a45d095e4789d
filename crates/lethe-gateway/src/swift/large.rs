//! Large objects: an object that stands for others, one after the other.
//!
//! A **dynamic** one names a container and what keys begin with; whatever is there when it is read belongs to it. A
//! **static** one holds a list of its segments, with the ETag and the size that each had when the list was put; it is
//! read only as long as they have them. The list is the object's own bytes: reading it takes accesses.

use super::asked::Asked;
use super::conditions;
use super::content::{Content, Piece, cut};
use super::dates::iso;
use super::describe::{content_type, details, guess_type};
use super::listing::MOST_ENTRIES;
use super::put::created;
use super::refusal::{Outcome, Refusal};
use super::rights::{Right, Visitor};
use super::route::whole_in;
use super::target::Target;
use super::{At, Swift, bulk};
use crate::catalogue::{Details, Manifest, Object};
use crate::device::Device;
use crate::error::Error;
use crate::objects::checksums::hex;
use crate::objects::listing::ListRequest;
use axum::body::Body;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use md5::{Digest as _, Md5};
use serde::de::{self, IgnoredAny, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The most segments of a list.
pub(super) const MOST_SEGMENTS: usize = 1000;
/// The most bytes of a list.
pub(super) const MOST_LIST_BYTES: usize = 8 << 20;
/// How deep a static large object may stand within others.
const MOST_DEPTH: usize = 10;
/// The most entries of all its lists, each time that one is read: what a get may cost before its first byte.
const MOST_PIECES: usize = 10_000;
/// The most objects of a dynamic one, which are counted through in memory.
const MOST_DYNAMIC_PIECES: usize = 1_000_000;

/// A segment as the client lists it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    path: String,
    #[serde(default)]
    etag: Option<String>,
    #[serde(default)]
    size_bytes: Option<u64>,
    #[serde(default)]
    range: Option<String>,
}

/// The segments of a list, one more than it may have at most: a longer one is read to its end and not kept.
struct FirstSegments(Vec<Listed>);

impl<'de> Deserialize<'de> for FirstSegments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Segments;

        impl<'de> de::Visitor<'de> for Segments {
            type Value = FirstSegments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of segments")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<FirstSegments, A::Error> {
                let mut listed = Vec::new();
                while listed.len() <= MOST_SEGMENTS
                    && let Some(segment) = entries.next_element()?
                {
                    listed.push(segment);
                }
                while entries.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstSegments(listed))
            }
        }

        deserializer.deserialize_seq(Segments)
    }
}

/// A segment as it is kept, in the form in which `multipart-manifest=get` shows it.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// `/container/object`
    name: String,
    hash: String,
    /// All of the segment's, whatever range of them is meant.
    bytes: u64,
    content_type: String,
    last_modified: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sub_slo: bool,
}

pub(super) fn is_static(object: &Object) -> bool {
    matches!(object.details.manifest, Some(Manifest::Static { .. }))
}

pub(super) fn is_large(object: &Object) -> bool {
    object.details.manifest.is_some()
}

/// Size and ETag of a static large object, which the catalogue knows.
pub(super) fn known_size(object: &Object) -> Option<(u64, String)> {
    match &object.details.manifest {
        Some(Manifest::Static { bytes, etag }) => Some((*bytes, format!("\"{etag}\""))),
        _ => None,
    }
}

/// What a large object may be made of, however deep its lists stand within others.
struct Bound {
    left: usize,
}

impl Bound {
    fn of(pieces: usize) -> Self {
        Bound { left: pieces }
    }

    /// # Errors
    /// 409 if there are more pieces.
    fn spend(&mut self, pieces: usize) -> Outcome<()> {
        let too_many = || conflict("The large object is made of too many pieces.");
        self.left = self.left.checked_sub(pieces).ok_or_else(too_many)?;
        Ok(())
    }
}

impl<D: Device> Swift<D> {
    /// Who makes an object stand for what is in a container must be able to read that: whoever reads the object later
    /// may be let in to all of the account.
    ///
    /// # Errors
    /// 401 or 403.
    pub(super) fn check_manifest(
        &self,
        asked: &Asked,
        visitor: &Visitor,
        account: &str,
        details: &Details,
    ) -> Outcome<()> {
        match &details.manifest {
            Some(Manifest::Dynamic { container, .. }) => {
                self.check(asked, visitor, account, Some(container), Right::Read)
            }
            _ => Ok(()),
        }
    }

    /// What an object stands for. Reads the lists of static large objects.
    ///
    /// # Errors
    /// 409 if a static large object is not what it was, or if there are too many pieces; 401 or 403 if a segment is not
    /// the visitor's to read.
    pub(super) async fn content(
        &self,
        asked: &Asked,
        at: &At<'_, D>,
        object: &Arc<Object>,
    ) -> Outcome<Content> {
        match &object.details.manifest {
            None => Ok(Content::plain(object)),
            Some(Manifest::Dynamic { container, prefix }) => self.dynamic(asked, at, container, prefix).await,
            Some(Manifest::Static { etag, .. }) => {
                let (etag, mut bound) = (format!("\"{etag}\""), Bound::of(MOST_PIECES));
                Ok(Content { pieces: self.pieces(asked, at, object, MOST_DEPTH, &mut bound).await?, etag })
            }
        }
    }

    async fn dynamic(
        &self,
        asked: &Asked,
        at: &At<'_, D>,
        container: &str,
        prefix: &str,
    ) -> Outcome<Content> {
        let mut bound = Bound::of(MOST_DYNAMIC_PIECES);
        self.check(asked, at.visitor, at.account.name(), Some(container), Right::Read)?;
        let mut request =
            ListRequest { prefix: prefix.to_owned(), limit: MOST_ENTRIES, ..ListRequest::default() };
        let (mut pieces, mut tags) = (Vec::new(), Md5::new());
        loop {
            let page = match at.account.list(container, &request) {
                Ok(page) => page,
                // Nothing is there: the object is empty.
                Err(Error::NoSuchContainer) => break,
                Err(error) => return Err(error.into()),
            };
            bound.spend(page.entries.len())?;
            // Thousands of names are counted through.
            tokio::task::yield_now().await;
            for (_, segment) in page.entries {
                tags.update(&segment.etag);
                pieces.push(Piece::whole(&segment));
            }
            match page.next {
                Some(next) => request.after = next,
                None => break,
            }
        }
        Ok(Content { pieces, etag: format!("\"{}\"", hex(&tags.finalize())) })
    }

    /// The pieces of a static large object.
    fn pieces<'a>(
        &'a self,
        asked: &'a Asked,
        at: &'a At<'a, D>,
        object: &'a Arc<Object>,
        depth: usize,
        bound: &'a mut Bound,
    ) -> BoxFuture<'a, Outcome<Vec<Piece>>> {
        async move {
            if depth == 0 {
                return Err(conflict("The large object stands too deep within others."));
            }
            let mut pieces = Vec::new();
            let kept = self.kept(object).await?;
            bound.spend(kept.len())?;
            for kept in kept {
                let segment = self.segment(asked, at, &kept)?;
                let inner = if kept.sub_slo {
                    self.pieces(asked, at, &segment, depth - 1, bound).await?
                } else {
                    vec![Piece::whole(&segment)]
                };
                match kept.range.as_deref().and_then(|range| range_of(range, kept.bytes)) {
                    Some(range) => pieces.extend(cut(&inner, &range)),
                    None => pieces.extend(inner),
                }
            }
            Ok(pieces)
        }
        .boxed()
    }

    /// A segment, if it is still what it was.
    fn segment(&self, asked: &Asked, at: &At<'_, D>, kept: &Kept) -> Outcome<Arc<Object>> {
        let changed = || conflict("A segment of the large object is gone, or is not what it was.");
        let (container, key) = kept.name.trim_start_matches('/').split_once('/').ok_or_else(changed)?;
        self.check(asked, at.visitor, at.account.name(), Some(container), Right::Read)?;
        let segment = at.account.object(container, key).map_err(|_| changed())?;
        let (bytes, etag) = size_and_etag(&segment);
        if (bytes, etag.as_str()) != (kept.bytes, kept.hash.as_str()) || is_static(&segment) != kept.sub_slo {
            return Err(changed());
        }
        Ok(segment)
    }

    async fn kept(&self, object: &Arc<Object>) -> Outcome<Vec<Kept>> {
        let text = self.own_bytes(object).await?;
        serde_json::from_slice(&text).map_err(|_| conflict("The list of segments cannot be read."))
    }

    async fn own_bytes(&self, object: &Arc<Object>) -> Outcome<Bytes> {
        let mut text = Vec::new();
        if object.bytes() as usize > MOST_LIST_BYTES * 2 {
            return Err(conflict("The list of segments is too long."));
        }
        let mut reader = self.gateway.read(object, None).await?;
        while let Some(piece) = reader.next().await {
            text.extend_from_slice(&piece?);
        }
        // Its share is free again before the list needs one.
        drop(reader);
        let share = self.gateway.inner.memory.take_bytes(text.len() as u64)?;
        Ok(share.holding(text))
    }

    /// `multipart-manifest=get` of a static large object: its list.
    pub(super) async fn show_manifest(
        &self,
        asked: &Asked,
        at: &At<'_, D>,
        object: &Arc<Object>,
    ) -> Outcome<Response<Body>> {
        let text = self.own_bytes(object).await?;
        let text = match asked.query.get("format") {
            Some("raw") => {
                let kept: Vec<Kept> = serde_json::from_slice(&text)
                    .map_err(|_| conflict("The list of segments cannot be read."))?;
                Value::from_iter(kept.iter().map(raw)).to_string().into()
            }
            _ => text,
        };
        let mut answer = super::route::empty(StatusCode::OK);
        super::describe::describe(answer.headers_mut(), object, &object.etag, asked, at.visitor);
        let kind = HeaderValue::from_static("application/json; charset=utf-8");
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        *answer.body_mut() = Body::from(text);
        Ok(answer)
    }

    /// `multipart-manifest=put`: the body is a list of segments.
    pub(super) async fn put_large(
        &self,
        asked: &Asked,
        at: &At<'_, D>,
        body: Body,
    ) -> Outcome<Response<Body>> {
        let conditions = conditions::of_put(&asked.headers)?;
        let mut details = details(asked)?;
        details.content_type.get_or_insert_with(|| guess_type(at.object()));
        at.account.check_put(at.container(), at.object(), &conditions)?;
        let text = whole_in(&self.gateway, body, MOST_LIST_BYTES).await?;
        let FirstSegments(listed) = serde_json::from_slice(&text).map_err(|error| {
            Refusal::bad_request(format!(
                "The manifest is no list of {{path, etag, size_bytes, range}}: line {}",
                error.line()
            ))
        })?;
        // Its share is free again before the writer needs one.
        drop(text);
        if listed.is_empty() {
            return Err(Refusal::bad_request("The manifest lists no segment."));
        }
        if listed.len() > MOST_SEGMENTS {
            return Err(Refusal::too_large(format!("Number of segments must be <= {MOST_SEGMENTS}")));
        }
        let (mut kept, mut errors) = (Vec::new(), Vec::new());
        for (index, segment) in listed.iter().enumerate() {
            match self.check_listed(asked, at, segment) {
                Ok(segment) => kept.push(segment),
                Err(reason) => errors.push(format!("segment {}, {reason}", index + 1)),
            }
        }
        if !errors.is_empty() {
            return Err(Refusal::bad_request(format!("Errors:\n{}\n", errors.join("\n"))));
        }
        let (bytes, etag) = sum(&kept);
        if let Some(given) = asked.header("etag")
            && !conditions::bare(given).eq_ignore_ascii_case(&etag)
        {
            return Err(Error::BadDigest("ETag").into());
        }
        details.manifest = Some(Manifest::Static { bytes, etag });
        let text =
            serde_json::to_vec(&kept).map_err(|_| Refusal::bad_request("The manifest cannot be kept."))?;
        let length = text.len() as u64;
        at.account.check_room(at.container(), at.object(), Some(length))?;
        let written = super::put::receive(at.account, Body::from(text), Some(length)).await?;
        let object = at.account.link(at.container(), at.object(), written, details, conditions).await?;
        Ok(created(&object))
    }

    fn check_listed(&self, asked: &Asked, at: &At<'_, D>, listed: &Listed) -> Result<Kept, String> {
        let target = Target::read_within(at.account.name(), &super::describe::encoded(&listed.path));
        let target = target.map_err(|refusal| refusal.text().to_owned())?;
        let (Some(container), Some(key)) = (&target.container, &target.object) else {
            return Err("Invalid path: write /container/object".into());
        };
        let readable = self.check(asked, at.visitor, at.account.name(), Some(container), Right::Read);
        readable.map_err(|refusal| refusal.status().to_string())?;
        let segment = at.account.object(container, key).map_err(|_| "404 Not Found".to_owned())?;
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
        Ok(Kept {
            name: format!("/{container}/{key}"),
            hash,
            bytes,
            content_type: content_type(&segment).to_owned(),
            last_modified: iso(segment.modified),
            range: listed.range.clone(),
            sub_slo: is_static(&segment),
        })
    }

    /// `multipart-manifest=delete`: the list goes, and all that it lists.
    pub(super) async fn delete_large(
        &self,
        asked: &Asked,
        at: &At<'_, D>,
        object: &Arc<Object>,
    ) -> Outcome<Response<Body>> {
        let mut paths = Vec::new();
        self.segments(object, at, MOST_DEPTH, &mut Bound::of(MOST_PIECES), &mut paths).await?;
        paths.push(format!("/{}/{}", at.container(), at.object()));
        let targets = paths.iter().map(|path| super::describe::encoded(path)).collect();
        bulk::delete_all(self, asked, at, targets).await
    }

    fn segments<'a>(
        &'a self,
        object: &'a Arc<Object>,
        at: &'a At<'a, D>,
        depth: usize,
        bound: &'a mut Bound,
        paths: &'a mut Vec<String>,
    ) -> BoxFuture<'a, Outcome<()>> {
        async move {
            if depth == 0 {
                return Err(conflict("The large object stands too deep within others."));
            }
            let kept = self.kept(object).await?;
            bound.spend(kept.len())?;
            for kept in kept {
                if kept.sub_slo
                    && let Some((container, key)) = kept.name.trim_start_matches('/').split_once('/')
                    && let Ok(inner) = at.account.object(container, key)
                    && is_static(&inner)
                {
                    self.segments(&inner, at, depth - 1, bound, paths).await?;
                }
                paths.push(kept.name);
            }
            Ok(())
        }
        .boxed()
    }
}

fn raw(kept: &Kept) -> Value {
    let mut entry = json!({"path": kept.name, "etag": kept.hash, "size_bytes": kept.bytes});
    if let (Some(range), Some(fields)) = (&kept.range, entry.as_object_mut()) {
        fields.insert("range".into(), range.as_str().into());
    }
    entry
}

/// Bytes and ETag of all of a static large object, the latter as Swift makes it.
fn sum(segments: &[Kept]) -> (u64, String) {
    let (mut bytes, mut tags) = (0u64, Md5::new());
    for segment in segments {
        match segment.range.as_deref().and_then(|range| Some((range, range_of(range, segment.bytes)?))) {
            Some((_, range)) => {
                tags.update(format!("{}:{}-{};", segment.hash, range.start, range.end - 1));
                bytes = bytes.saturating_add(range.end - range.start);
            }
            None => {
                tags.update(&segment.hash);
                bytes = bytes.saturating_add(segment.bytes);
            }
        }
    }
    (bytes, hex(&tags.finalize()))
}

fn size_and_etag(segment: &Object) -> (u64, String) {
    match &segment.details.manifest {
        Some(Manifest::Static { bytes, etag }) => (*bytes, etag.clone()),
        _ => (segment.bytes(), segment.etag.clone()),
    }
}

/// A range of a segment, `5-9`, `5-` or `-5`.
fn range_of(range: &str, bytes: u64) -> Option<Range<u64>> {
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let range = match (first.trim(), last.trim()) {
        ("", count) => bytes.saturating_sub(number(count)?)..bytes,
        (first, "") => number(first)?..bytes,
        (first, last) => number(first)?..number(last)?.saturating_add(1).min(bytes),
    };
    (range.start < range.end).then_some(range)
}

fn conflict(text: &'static str) -> Refusal {
    Refusal::new(StatusCode::CONFLICT, text)
}
