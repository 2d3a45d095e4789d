//! Receives a body into blocks, and checks every digest that came with it.

use super::checksums::{self, HEADERS, bad_digest, check_headers};
use super::refusal::bad_request;
use super::version_4::Trailers;
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::checksums::Algorithm;
use crate::objects::writer::Written;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::StreamExt;
use http::{Extensions, HeaderMap};
use s3s::dto::StreamingBlob;
use s3s::{S3Error, S3Result, s3_error};

/// A body, and the facts in its request about it.
pub(super) struct Incoming<'a> {
    pub(super) body: Option<StreamingBlob>,
    pub(super) length: Option<i64>,
    /// True if its length may be unknown before its end.
    pub(super) length_unknown: bool,
    /// `Content-MD5`, in base64.
    pub(super) md5: Option<String>,
    /// The checksum in the header.
    pub(super) given: Option<(Algorithm, String)>,
    /// The algorithm to use if no checksum is given.
    pub(super) algorithm: Option<Algorithm>,
    pub(super) headers: &'a HeaderMap,
    pub(super) trailers: Option<Trailers>,
}

impl Incoming<'_> {
    /// Returns the bytes of the object or part, if they are known in advance.
    pub(super) fn bytes(&self) -> Option<u64> {
        // Over TLS, clients send a body in chunks without Content-Length, and state its length without the chunk
        // headers.
        let decoded = || self.headers.get("x-amz-decoded-content-length")?.to_str().ok()?.parse().ok();
        self.length.and_then(|length| u64::try_from(length).ok()).or_else(decoded)
    }
}

pub(super) async fn receive(account: &Account, incoming: Incoming<'_>) -> S3Result<Written> {
    let length = incoming.bytes();
    if length.is_none() && !incoming.length_unknown {
        return Err(s3_error!(MissingContentLength));
    }
    check_headers(incoming.headers)?;
    let md5 = incoming.md5.as_deref().map(parse_md5).transpose()?;
    let announced = announced(incoming.headers);
    let algorithm =
        incoming.given.as_ref().map(|(algorithm, _)| *algorithm).or(announced).or(incoming.algorithm);
    let mut writer = account.gateway().writer(length, algorithm)?;
    if let Some(mut body) = incoming.body {
        while let Some(piece) = body.next().await {
            writer.push(piece.map_err(Error::Body)?).await?;
        }
    }
    let written = writer.finish().await?;
    if md5.is_some_and(|md5| md5 != *written.md5()) {
        return Err(Error::BadDigest("Content-MD5").into());
    }
    let value = match (incoming.given, announced) {
        (Some((_, value)), _) => Some(value),
        (None, Some(_)) => Some(trailer(incoming.trailers).ok_or_else(no_trailer)?),
        (None, None) => None,
    };
    let actual = written.checksum().map(|checksum| &checksum.value);
    if let (Some(value), Some(algorithm)) = (&value, announced) {
        checksums::check_value("trailing header", algorithm, value.as_bytes())?;
    }
    if let (Some(value), Some(algorithm)) = (value, algorithm)
        && actual != Some(&value)
    {
        return Err(bad_digest(algorithm, None));
    }
    Ok(written)
}

/// Returns the trailers of a request, which exist when its body has ended.
pub(super) fn trailers(extensions: &Extensions) -> Option<Trailers> {
    extensions.get().cloned()
}

/// Returns the error for a body without the announced trailer.
pub(super) fn no_trailer() -> S3Error {
    bad_request(
        "MalformedTrailerError",
        "The request contained trailing data that was not well-formed or did not conform to our published schema.",
    )
}

pub(super) fn parse_md5(text: &str) -> S3Result<[u8; 16]> {
    let bytes = BASE64.decode(text).ok();
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| s3_error!(InvalidDigest, "The Content-MD5 you specified is not valid."))
}

/// Returns the algorithm of the checksum that the trailer will hold.
pub(super) fn announced(headers: &HeaderMap) -> Option<Algorithm> {
    let names = headers.get("x-amz-trailer")?.to_str().ok()?;
    HEADERS
        .iter()
        .find(|(header, _)| names.split(',').any(|name| name.trim().eq_ignore_ascii_case(header)))
        .map(|(_, algorithm)| *algorithm)
}

pub(super) fn trailer(trailers: Option<Trailers>) -> Option<String> {
    let trailers = trailers?.take()?;
    HEADERS
        .iter()
        .find_map(|(header, _)| trailers.get(*header))
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}
