//! The details of an object: read from the headers of a request, and written to those of an answer.

use super::dates::{http_date, read_http_date, timestamp};
use super::metadata::{self, ResourceKind, put};
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::rights::Claim;
use super::target::decode;
use super::temp_url;
use crate::catalogue::{Details, Manifest, Object, UnixMillis};
use crate::http::percent::encode_path;
use crate::objects::row_bound;
use http::HeaderMap;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE,
    ETAG, EXPIRES, LAST_MODIFIED,
};

/// The type of an object without a type from its client.
const UNKNOWN: &str = "application/octet-stream";

/// Returns the type of an object.
pub(super) fn content_type(object: &Object) -> &str {
    object.details.content_type.as_deref().unwrap_or(UNKNOWN)
}

/// Guesses a type from a name.
pub(super) fn guess_type(name: &str) -> String {
    mime_guess::from_path(name).first_raw().unwrap_or(UNKNOWN).to_owned()
}

/// Returns the details of an object from the headers of a put or a post.
///
/// # Errors
/// A header is invalid, or there is too much metadata.
pub(super) fn details(head: &RequestHead) -> Outcome<Details> {
    let headers = &head.headers;
    let text = |name: &str| -> Outcome<Option<String>> {
        Ok(metadata::header(headers, name)?.filter(|text| !text.is_empty()))
    };
    let changes = metadata::changes(headers, ResourceKind::Object)?;
    let metadata = changes.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let details = Details {
        content_type: text("content-type")?,
        cache_control: text("cache-control")?,
        content_disposition: text("content-disposition")?,
        content_encoding: text("content-encoding")?,
        content_language: text("content-language")?,
        expires: head.header("expires").and_then(read_http_date),
        metadata,
        delete_at: delete_at(head)?,
        manifest: dynamic_manifest(headers)?,
        ..Details::default()
    };
    row_bound::check(&details)?;
    Ok(details)
}

/// Returns the time at which an object expires.
pub(super) fn delete_at(head: &RequestHead) -> Outcome<Option<UnixMillis>> {
    let number = |name: &str| -> Outcome<Option<u64>> {
        let Some(text) = head.header(name).map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let number = text.parse().map_err(|_| match text.parse::<i64>() {
            Ok(_) => Refusal::bad_request(format!("{name} in past")),
            Err(_) => Refusal::bad_request(format!("Non-integer {name}")),
        })?;
        Ok(Some(number))
    };
    let now = head.now.seconds();
    let seconds = match (number("x-delete-after")?, number("x-delete-at")?) {
        (Some(after), _) => now.checked_add(after),
        (None, Some(seconds)) => Some(seconds),
        (None, None) => return Ok(None),
    };
    let time = seconds
        .filter(|seconds| *seconds > now)
        .and_then(|seconds| seconds.checked_mul(1000))
        .map(UnixMillis);
    time.map(Some).ok_or_else(|| Refusal::bad_request("X-Delete-At in past, or further away than time goes"))
}

fn dynamic_manifest(headers: &HeaderMap) -> Outcome<Option<Manifest>> {
    let Some(text) = metadata::header(headers, "x-object-manifest")?.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let path = decode(text.trim_start_matches('/'))?;
    match path.split_once('/') {
        Some((container, prefix))
            if !container.is_empty() && !prefix.is_empty() && !text.contains(['?', '&']) =>
        {
            Ok(Some(Manifest::Dynamic { container: container.to_owned(), prefix: prefix.to_owned() }))
        }
        _ => Err(Refusal::bad_request("X-Object-Manifest must be in the format container/prefix")),
    }
}

/// Writes the headers with which `GET` and `HEAD` describe an object, except for its length. `etag` is that of the
/// bytes that are read.
pub(super) fn describe(
    headers: &mut HeaderMap,
    object: &Object,
    etag: &str,
    head: &RequestHead,
    claim: &Claim,
) {
    let details = &object.details;
    for (name, value) in [
        (CACHE_CONTROL, &details.cache_control),
        (CONTENT_DISPOSITION, &details.content_disposition),
        (CONTENT_ENCODING, &details.content_encoding),
        (CONTENT_LANGUAGE, &details.content_language),
    ] {
        if let Some(value) = value {
            put(headers, name.as_str(), value);
        }
    }
    if let Some(expires) = details.expires {
        put(headers, EXPIRES.as_str(), &http_date(expires));
    }
    put(headers, CONTENT_TYPE.as_str(), content_type(object));
    put(headers, ACCEPT_RANGES.as_str(), "bytes");
    put(headers, LAST_MODIFIED.as_str(), &http_date(object.modified));
    put(headers, "x-timestamp", &timestamp(object.modified));
    put(headers, ETAG.as_str(), etag);
    if let Some(time) = details.delete_at {
        put(headers, "x-delete-at", &time.seconds().to_string());
    }
    match &details.manifest {
        Some(Manifest::Dynamic { container, prefix }) => {
            put(headers, "x-object-manifest", &encode_path(&format!("{container}/{prefix}")));
        }
        Some(Manifest::Static { .. }) => put(headers, "x-static-large-object", "True"),
        None => {}
    }
    match claim.temp_url() {
        // A link shows only metadata that the owner marked as public.
        Some(link) => {
            metadata::show(headers, ResourceKind::Object, &details.metadata, |name| {
                !name.starts_with("public-")
            });
            let named = head.query.has("inline") || head.query.has("filename");
            if named || details.content_disposition.is_none() {
                let object = head.path.as_str();
                put(headers, CONTENT_DISPOSITION.as_str(), &temp_url::disposition(&head.query, object));
            }
            put(headers, EXPIRES.as_str(), &http_date(link.grant.expires));
        }
        None => metadata::show(headers, ResourceKind::Object, &details.metadata, |_| false),
    }
}
