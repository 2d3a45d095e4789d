//! The body of a request: its description in `x-amz-content-sha256`, and the decoded bytes, which fail if they are not
//! the signed ones.

use super::chunks::{Chunks, Step};
use super::payload_error::PayloadError;
use super::signed::Signed;
use crate::http::body_timeout::PolledFrame;
use crate::http::body_timeout::RequestBody;
use crate::s3::principal::principal;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use s3s::{Body, S3Error, S3Result, s3_error};
use sha2::{Digest as _, Sha256};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The header that describes a body.
pub(super) const CONTENT_SHA256: &str = "x-amz-content-sha256";
pub(super) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
const SIGNED_CHUNKS: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
const SIGNED_CHUNKS_AND_TRAILER: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
const CHUNKS_AND_TRAILER: &str = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

/// The body of a request as its headers describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::s3) enum Payload {
    /// There is no header.
    Unnamed,
    Unsigned,
    Sha256([u8; 32]),
    /// The body comes in chunks (`aws-chunked`).
    Chunks {
        are_signed: bool,
        has_trailer: bool,
    },
}

impl Payload {
    /// Parses the header.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown value, also an empty one; `NotImplemented` for chunks that are signed with
    /// ECDSA.
    pub(in crate::s3) fn of(headers: &HeaderMap) -> S3Result<Payload> {
        let mut values = headers.get_all(CONTENT_SHA256).iter();
        let Some(value) = values.next() else { return Ok(Payload::Unnamed) };
        let value = value.to_str().ok().filter(|_| values.next().is_none()).unwrap_or_default();
        let mut digest = [0; 32];
        match value {
            UNSIGNED => Ok(Payload::Unsigned),
            SIGNED_CHUNKS => Ok(Payload::Chunks { are_signed: true, has_trailer: false }),
            SIGNED_CHUNKS_AND_TRAILER => Ok(Payload::Chunks { are_signed: true, has_trailer: true }),
            CHUNKS_AND_TRAILER => Ok(Payload::Chunks { are_signed: false, has_trailer: true }),
            "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"
            | "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER" => {
                Err(s3_error!(NotImplemented, "Chunks are signed with HMAC-SHA256 here, not with ECDSA."))
            }
            _ if base16ct::mixed::decode(value, &mut digest).is_ok_and(|bytes| bytes.len() == 32) => {
                Ok(Payload::Sha256(digest))
            }
            _ => Err(s3_error!(
                InvalidArgument,
                "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, \
                 STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER, \
                 STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD, STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER or a valid \
                 sha256 value."
            )),
        }
    }

    /// Returns the decoded body. `signed` is the request's signature of version 4, if it has one.
    ///
    /// # Errors
    /// `NotImplemented` for chunks of a request without a version 4 signature. `InvalidRequest` and
    /// `MissingContentLength` for chunks without their headers. `XAmzContentSHA256Mismatch` for an empty body that
    /// should not be empty.
    pub(in crate::s3) fn body(
        self,
        parts: &mut Parts,
        body: RequestBody,
        signed: Option<Signed>,
    ) -> S3Result<Body> {
        if is_in_chunks(&parts.headers) && signed.is_none() {
            return Err(match principal(&parts.extensions)?.is_anonymous() {
                true => s3_error!(
                    NotImplemented,
                    "A body in chunks (aws-chunked) is read of signed requests only. Send it as it is."
                ),
                false => no_chunks_in_url(),
            });
        }
        let decoding = match (self, signed) {
            (Payload::Sha256(expected), _) => Decoding::Digest { hasher: Sha256::new(), expected },
            (Payload::Chunks { are_signed, has_trailer }, Some(signed)) => {
                let bytes = decoded_bytes(&parts.headers, has_trailer)?;
                parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
                let trailers = Trailers::default();
                parts.extensions.insert(trailers.clone());
                Decoding::Chunks {
                    chunks: Chunks::new(bytes, has_trailer, are_signed.then_some(signed)),
                    trailers,
                }
            }
            _ => return Ok(Body::http_body_unsync(body)),
        };
        Ok(Body::http_body_unsync(DecodedBody { body, input: Bytes::new(), decoding, is_over: false }))
    }
}

/// Returns the error for a body in chunks with a signed URL: it has no signature that the first chunk could follow.
pub(super) fn no_chunks_in_url() -> S3Error {
    s3_error!(NotImplemented, "A body in chunks (aws-chunked) cannot be sent to a signed URL.")
}

fn decoded_bytes(headers: &HeaderMap, has_trailer: bool) -> S3Result<u64> {
    if has_trailer && !headers.contains_key("x-amz-trailer") {
        return Err(s3_error!(InvalidRequest, "Missing required header for this request: x-amz-trailer"));
    }
    let bytes =
        headers.get("x-amz-decoded-content-length").and_then(|bytes| bytes.to_str().ok()?.parse().ok());
    bytes.ok_or_else(|| {
        s3_error!(MissingContentLength, "x-amz-decoded-content-length is missing or not a number.")
    })
}

/// Returns whether a body comes in chunks (`aws-chunked`).
fn is_in_chunks(headers: &HeaderMap) -> bool {
    let streams = |value: &HeaderValue| value.as_bytes().starts_with(b"STREAMING-");
    let encoding = headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    headers.get(CONTENT_SHA256).is_some_and(streams)
        || headers.contains_key("x-amz-decoded-content-length")
        || encoding
            .flat_map(|value| value.split(','))
            .any(|value| value.trim().eq_ignore_ascii_case("aws-chunked"))
}

/// The trailers after a body in chunks, once it has ended.
#[derive(Clone, Debug, Default)]
pub(in crate::s3) struct Trailers(Arc<Mutex<Option<HeaderMap>>>);

impl Trailers {
    /// Takes the trailers; `None` if the body has not ended.
    pub(in crate::s3) fn take(&self) -> Option<HeaderMap> {
        self.0.lock().take()
    }
}

/// A request's body, decoded from its chunks or compared with its digest.
struct DecodedBody {
    body: RequestBody,
    /// The bytes that were received and not yet decoded.
    input: Bytes,
    decoding: Decoding,
    is_over: bool,
}

enum Decoding {
    Digest { hasher: Sha256, expected: [u8; 32] },
    Chunks { chunks: Chunks, trailers: Trailers },
}

impl Decoding {
    /// Returns the next decoded bytes; `None` if more input is needed.
    fn next(&mut self, input: &mut Bytes) -> Result<Option<Bytes>, PayloadError> {
        match self {
            Decoding::Digest { .. } if input.is_empty() => Ok(None),
            Decoding::Digest { hasher, .. } => {
                hasher.update(&*input);
                Ok(Some(std::mem::take(input)))
            }
            Decoding::Chunks { chunks, .. } => match chunks.step(input)? {
                Step::Data(bytes) => Ok(Some(bytes)),
                Step::More => Ok(None),
            },
        }
    }

    /// Checks the whole body at its end.
    fn end(&mut self) -> Result<(), PayloadError> {
        match self {
            Decoding::Digest { hasher, expected } => {
                let digest: [u8; 32] = std::mem::take(hasher).finalize().into();
                if digest == *expected { Ok(()) } else { Err(PayloadError::Sha256) }
            }
            Decoding::Chunks { chunks, trailers } => {
                *trailers.0.lock() = Some(chunks.end()?);
                Ok(())
            }
        }
    }
}

impl hyper::body::Body for DecodedBody {
    type Data = Bytes;
    type Error = PayloadError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame<PayloadError> {
        let this = &mut *self;
        while !this.is_over {
            match this.decoding.next(&mut this.input) {
                Ok(Some(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Ok(None) => {}
                Err(error) => {
                    this.is_over = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => this.input = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => {
                    this.is_over = true;
                    return Poll::Ready(Some(Err(PayloadError::Body(error))));
                }
                None => {
                    this.is_over = true;
                    return Poll::Ready(this.decoding.end().err().map(Err));
                }
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }

    fn size_hint(&self) -> SizeHint {
        match &self.decoding {
            Decoding::Digest { .. } => self.body.size_hint(),
            Decoding::Chunks { chunks, .. } => SizeHint::with_exact(chunks.remaining()),
        }
    }
}
