//! The XML body of a request: read as a whole, compared with its digests, and converted to canonical form.

use super::canonical::{TREE, canonical};
use crate::error::Error;
use crate::objects::checksums::{Algorithm, Digests};
use crate::objects::memory::{Memory, Share};
use crate::s3::body::{self, parse_md5};
use crate::s3::checksums::{HEADERS, bad_digest, check_headers, check_value};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::header::{CONTENT_LENGTH, HeaderName};
use http::{HeaderValue, Method, Request, Uri};
use s3s::{Body, S3Result, s3_error};

/// The largest number of bytes of XML in a request. The longest document in S3 is the completion of an upload of 10,000
/// parts, which has some 3 MB with a checksum and spaces.
pub(in crate::s3) const MAX_XML: u64 = 8 << 20;

const MD5: HeaderName = HeaderName::from_static("content-md5");

/// Returns whether a body is XML, or belongs to an unsupported verb. This is the body of every POST except a form, and
/// of every PUT that is not of an object.
pub(in crate::s3) fn has_xml(method: &Method, uri: &Uri) -> bool {
    match *method {
        Method::POST => true,
        Method::PUT => sets_subresource(uri),
        _ => false,
    }
}

/// Returns whether a PUT is of a bucket or of the details of an object, and not of an object.
fn sets_subresource(uri: &Uri) -> bool {
    let is_object = uri.path().trim_start_matches('/').contains('/');
    !is_object || ["acl", "tagging", "retention", "legal-hold"].iter().any(|name| has_parameter(uri, name))
}

/// Replaces the body of a request by its canonical form, and returns the memory that this takes.
///
/// # Errors
/// `MaxMessageLengthExceeded`; `MissingContentLength`; `IncompleteBody` for a body that ended early; `BadDigest`;
/// `MalformedXML`; `NotImplemented` for a part that this gateway does not support; `SlowDown` without memory.
pub(in crate::s3) async fn read(request: &mut Request<Body>, memory: &Memory) -> S3Result<Share> {
    let bytes = read_body(request).await?;
    check_digests(request, &bytes)?;
    let share = memory.take_bytes(bytes.len() as u64 * TREE)?;
    // A bucket policy is JSON, and not supported in any case.
    let bytes = match bytes.is_empty() || has_parameter(request.uri(), "policy") {
        true => Bytes::new(),
        false => Bytes::from(canonical(&bytes)?.into_owned()),
    };
    request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    *request.body_mut() = Body::from(bytes);
    Ok(share)
}

/// Returns whether a query has a parameter of this name, which may be percent-encoded, as s3s reads it.
fn has_parameter(uri: &Uri, name: &str) -> bool {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).any(|(known, _)| known == name)
}

async fn read_body(request: &mut Request<Body>) -> S3Result<Bytes> {
    let length = request.headers().get(CONTENT_LENGTH);
    let length: Option<u64> = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let mut body = std::mem::take(request.body_mut());
    let mut bytes = BytesMut::new();
    while let Some(piece) = body.next().await {
        bytes.extend_from_slice(&piece.map_err(Error::Body)?);
        if bytes.len() as u64 > MAX_XML {
            return Err(s3_error!(MaxMessageLengthExceeded, "A body of XML has at most {MAX_XML} bytes."));
        }
    }
    match length {
        None if !bytes.is_empty() => Err(s3_error!(MissingContentLength)),
        Some(length) if length != bytes.len() as u64 => Err(s3_error!(IncompleteBody)),
        _ => Ok(bytes.freeze()),
    }
}

/// Compares a body with the digests in the headers and trailers.
fn check_digests(request: &Request<Body>, bytes: &[u8]) -> S3Result<()> {
    let headers = request.headers();
    let md5 = headers.get(MD5).map(|text| parse_md5(text.to_str().unwrap_or_default())).transpose()?;
    // The checksum headers of an upload in parts are about the object.
    let of_object = |name| *request.method() == Method::POST && has_parameter(request.uri(), name);
    let declared_checksum = match of_object("uploads") || of_object("uploadId") {
        true => None,
        false => declared_checksum(request)?,
    };
    let mut digests = Digests::new(declared_checksum.as_ref().map(|(algorithm, _)| *algorithm));
    digests.update(bytes);
    let digested = digests.finish();
    if md5.is_some_and(|md5| md5 != digested.md5) {
        return Err(Error::BadDigest("Content-MD5").into());
    }
    match declared_checksum {
        Some((algorithm, value)) if digested.checksum.is_none_or(|checksum| checksum.value != value) => {
            Err(bad_digest(algorithm, None))
        }
        _ => Ok(()),
    }
}

/// Returns the checksum of a body, from a header or the trailer.
fn declared_checksum(request: &Request<Body>) -> S3Result<Option<(Algorithm, String)>> {
    let headers = request.headers();
    check_headers(headers)?;
    if let Some(algorithm) = body::announced(headers) {
        let value = body::trailer(body::trailers(request.extensions())).ok_or_else(body::no_trailer)?;
        check_value("trailing header", algorithm, value.as_bytes())?;
        return Ok(Some((algorithm, value)));
    }
    let mut values = HEADERS.iter().filter_map(|(name, algorithm)| Some((*algorithm, headers.get(*name)?)));
    Ok(values.next().map(|(algorithm, value)| (algorithm, value.to_str().unwrap_or_default().to_owned())))
}
