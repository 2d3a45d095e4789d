//! Uploads by HTML form (`POST` to a bucket), signed by the policy in the form.
//!
//! The form is read up to its file, checked, and becomes a put of an object. The length of the object is known only at
//! the end of the file. Nothing of the file is read before the form was accepted, and only a few pieces of it are in
//! memory.

mod fields;
mod policy;
mod signature;

use super::xml::canonical;
use crate::auth::identity::Users;
use crate::auth::principal::Principal;
use crate::catalogue::UnixMillis;
use crate::http::body_timeout::RequestBody;
use crate::http::percent::encode_path;
use crate::http::protocol::Verb;
use bytes::Bytes;
use fields::{Fields, malformed};
use futures::{Stream, StreamExt};
use http::header::{CONTENT_TYPE, ETAG, HOST, HeaderName, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use policy::Policy;
use s3s::dto::{PostResponse, StreamingBlob, Tagging};
use s3s::service::S3Service;
use s3s::xml::{self, Deserialize as _};
use s3s::{Body, S3Result, s3_error};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// An extension of a put whose length is unknown before its end.
#[derive(Clone, Copy)]
pub(super) struct LengthUnknown;

const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// Returns whether a request is a form.
pub(super) fn is_form(method: &Method, headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes()).to_ascii_lowercase();
    *method == Method::POST && kind.starts_with(b"multipart/form-data")
}

/// Answers a form. Sends the put that the form stands for to `puts`, which checks no signature.
pub(super) async fn answer(
    request: Request<RequestBody>,
    users: &Arc<Users>,
    now: UnixMillis,
    puts: &S3Service,
    region: Option<&str>,
    tls: bool,
) -> S3Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    if let Some(verb) = parts.extensions.get::<Verb>() {
        verb.name("PostObject");
    }
    let bucket = bucket(&parts.uri)?;
    let boundary = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let boundary = boundary.and_then(|kind| multer::parse_boundary(kind).ok()).ok_or_else(malformed)?;
    let (fields, file) = fields::read(axum::body::Body::new(body).into_data_stream(), boundary).await?;
    let key = fields.key()?;
    let (principal, allowed) = match signature::signed(&fields, users, &parts.headers, now, region)? {
        None => (Principal::new(None, &parts.headers), 0..=u64::MAX),
        Some(principal) => {
            let policy = Policy::read(fields.get("policy").unwrap_or_default(), now)?;
            policy.check(&fields, &bucket)?;
            (principal, policy.bytes())
        }
    };
    let success_action = SuccessAction::new(&fields)?;
    let mut put = Request::new(Body::from(StreamingBlob::wrap(limit_file(file, allowed))));
    *put.method_mut() = Method::PUT;
    let target = format!("/{bucket}/{}", encode_path(&key));
    *put.uri_mut() = target.parse().map_err(|_| s3_error!(InvalidURI))?;
    *put.headers_mut() = headers(&fields)?;
    *put.extensions_mut() = parts.extensions;
    put.extensions_mut().insert(principal);
    put.extensions_mut().insert(LengthUnknown);
    let answer = puts.call(put).await.map_err(|_| s3_error!(InternalError))?;
    if !answer.status().is_success() {
        return Ok(answer);
    }
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let base_url = format!("{}://{host}", if tls { "https" } else { "http" });
    success_action.answer(answer, &bucket, &key, &base_url)
}

/// Returns the bucket that a form is sent to.
fn bucket(uri: &Uri) -> S3Result<String> {
    let path = uri.path().trim_start_matches('/').trim_end_matches('/');
    let bucket =
        percent_encoding::percent_decode_str(path).decode_utf8().map_err(|_| s3_error!(InvalidURI))?;
    if bucket.is_empty() || bucket.contains('/') {
        return Err(s3_error!(MethodNotAllowed, "A form is sent to a bucket: POST /bucket."));
    }
    if !s3s::path::check_bucket_name(&bucket) {
        return Err(s3_error!(InvalidBucketName));
    }
    Ok(bucket.into_owned())
}

/// The reason why a file is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error("the file of the form is larger than its policy allows")]
    TooLarge,
    #[error("the file of the form is smaller than its policy allows")]
    TooSmall,
    // multer does not show the causes of its errors.
    #[error("{}", std::error::Error::source(.0).map_or_else(|| .0.to_string(), ToString::to_string))]
    Form(#[source] multer::Error),
}

/// Returns the file as a stream that fails as soon as it is too large, or at its end if it is too small.
fn limit_file(
    file: multer::Field<'static>,
    allowed: RangeInclusive<u64>,
) -> impl Stream<Item = Result<Bytes, FileError>> + Send + Sync + 'static {
    let state = (file, 0u64, false);
    futures::stream::unfold(state, move |(mut file, mut bytes, ended)| {
        let (min, max) = (*allowed.start(), *allowed.end());
        async move {
            if ended {
                return None;
            }
            let (piece, ended) = match file.next().await {
                Some(Ok(piece)) => {
                    bytes = bytes.saturating_add(piece.len() as u64);
                    if bytes > max { (Err(FileError::TooLarge), true) } else { (Ok(piece), false) }
                }
                Some(Err(error)) => (Err(FileError::Form(error)), true),
                None if bytes < min => (Err(FileError::TooSmall), true),
                None => return None,
            };
            Some((piece, (file, bytes, ended)))
        }
    })
}

/// Returns the headers of a put that mean the same as the fields.
fn headers(fields: &Fields) -> S3Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields.iter() {
        let (header, value) = match name {
            "acl" => ("x-amz-acl", value.to_owned()),
            "tagging" => ("x-amz-tagging", tagging(value)?),
            "cache-control" | "content-type" | "content-disposition" | "content-encoding" | "expires" => {
                (name, value.to_owned())
            }
            "x-amz-algorithm" | "x-amz-credential" | "x-amz-date" | "x-amz-signature" => continue,
            // The put stores the fields that it supports, and refuses the others.
            name if [
                "x-amz-meta-",
                "x-amz-checksum-",
                "x-amz-object-lock-",
                "x-amz-server-side-encryption",
            ]
            .iter()
            .any(|known| name.starts_with(known)) =>
            {
                (name, value.to_owned())
            }
            "x-amz-storage-class" | "x-amz-website-redirect-location" | "x-amz-sdk-checksum-algorithm" => {
                (name, value.to_owned())
            }
            name if name.starts_with("x-amz-") => {
                return Err(s3_error!(
                    NotImplemented,
                    "A field of the form asks for what this gateway does not have."
                ));
            }
            _ => continue,
        };
        let bad = || s3_error!(InvalidArgument, "A field of the form cannot be the value of a header.");
        let header = HeaderName::try_from(header).map_err(|_| bad())?;
        headers.append(header, HeaderValue::try_from(value).map_err(|_| bad())?);
    }
    Ok(headers)
}

/// Converts the tags of a form, which are XML, to those of a put, which are a query.
fn tagging(text: &str) -> S3Result<String> {
    let document = canonical(text.as_bytes()).map_err(|_| s3_error!(MalformedXML))?;
    let mut reader = xml::Deserializer::new(&document);
    let tagging = Tagging::deserialize(&mut reader).map_err(|_| s3_error!(MalformedXML))?;
    let encode = |text: Option<String>| {
        utf8_percent_encode(text.unwrap_or_default().as_str(), NON_ALPHANUMERIC).to_string()
    };
    let pairs = tagging.tag_set.into_iter().map(|tag| format!("{}={}", encode(tag.key), encode(tag.value)));
    Ok(pairs.collect::<Vec<_>>().join("&"))
}

/// The answer that a form requests after success.
enum SuccessAction {
    /// Redirect to this address.
    Redirect(String),
    Status(StatusCode),
}

impl SuccessAction {
    fn new(fields: &Fields) -> S3Result<Self> {
        let redirect = fields.get("success_action_redirect").or_else(|| fields.get("redirect"));
        if let Some(address) = redirect.filter(|address| !address.is_empty()) {
            let uri = address.parse::<Uri>().ok();
            let is_web =
                uri.and_then(|uri| uri.scheme_str().map(|scheme| matches!(scheme, "http" | "https")));
            // S3 ignores an invalid address.
            if is_web == Some(true) && HeaderValue::try_from(address).is_ok() {
                return Ok(SuccessAction::Redirect(address.to_owned()));
            }
        }
        Ok(SuccessAction::Status(match fields.get("success_action_status") {
            Some("200") => StatusCode::OK,
            Some("201") => StatusCode::CREATED,
            _ => StatusCode::NO_CONTENT,
        }))
    }

    fn answer(
        self,
        put: Response<Body>,
        bucket: &str,
        key: &str,
        base_url: &str,
    ) -> S3Result<Response<Body>> {
        let (mut parts, _) = put.into_parts();
        let etag = parts.headers.get(ETAG).and_then(|etag| etag.to_str().ok()).unwrap_or_default().to_owned();
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let location = format!("{base_url}/{bucket}/{}", encode_path(key));
        let (status, location, body) = match self {
            SuccessAction::Redirect(address) => {
                let separator = if address.contains('?') { '&' } else { '?' };
                let query = format!("bucket={}&key={}&etag={}", encode(bucket), encode(key), encode(&etag));
                (StatusCode::SEE_OTHER, format!("{address}{separator}{query}"), Body::empty())
            }
            SuccessAction::Status(StatusCode::CREATED) => {
                parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
                let post = PostResponse { location: &location, bucket, key, etag: &etag };
                let mut text = Vec::new();
                let mut writer = xml::Serializer::new(&mut text);
                let written =
                    writer.decl().and_then(|()| writer.content_with_ns("PostResponse", NAMESPACE, &post));
                written.map_err(|_| s3_error!(InternalError))?;
                (StatusCode::CREATED, location, Body::from(text))
            }
            SuccessAction::Status(status) => (status, location, Body::empty()),
        };
        parts.status = status;
        if let Ok(location) = HeaderValue::try_from(location) {
            parts.headers.insert(LOCATION, location);
        }
        Ok(Response::from_parts(parts, body))
    }
}
