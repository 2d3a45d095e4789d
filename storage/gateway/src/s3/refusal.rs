//! Refusals whose status does not follow from their code, or that bring headers of their own.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use s3s::{S3Error, S3ErrorCode};
use std::borrow::Cow;

/// The refusal with this status. A code that s3s does not know has none of its own.
pub(super) fn refusal(
    code: S3ErrorCode,
    status: StatusCode,
    message: impl Into<Cow<'static, str>>,
) -> S3Error {
    let mut refusal = S3Error::with_message(code, message);
    refusal.set_status_code(status);
    refusal
}

/// The refusal with a code that s3s does not know: 400.
pub(super) fn bad_request(code: &'static str, message: impl Into<Cow<'static, str>>) -> S3Error {
    refusal(S3ErrorCode::Custom(code.into()), StatusCode::BAD_REQUEST, message)
}

/// The refusal of a configuration that a bucket does not have: 404.
pub(super) fn not_found(code: S3ErrorCode, default_message: &'static str) -> S3Error {
    refusal(code, StatusCode::NOT_FOUND, default_message)
}

/// The headers of a refusal that is to have more of them: s3s adds none to those that are set.
pub(super) fn xml_headers() -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/xml"))])
}
