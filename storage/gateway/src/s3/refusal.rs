//! Errors whose status does not follow from their code, or that have more headers.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use s3s::{S3Error, S3ErrorCode};
use std::borrow::Cow;

/// Returns an error with this status. s3s has no status for codes that it does not know.
pub(super) fn refusal(
    code: S3ErrorCode,
    status: StatusCode,
    message: impl Into<Cow<'static, str>>,
) -> S3Error {
    let mut refusal = S3Error::with_message(code, message);
    refusal.set_status_code(status);
    refusal
}

/// Returns an error with a code that s3s does not know: 400.
pub(super) fn bad_request(code: &'static str, message: impl Into<Cow<'static, str>>) -> S3Error {
    refusal(S3ErrorCode::Custom(code.into()), StatusCode::BAD_REQUEST, message)
}

/// Returns the error for a configuration that a bucket does not have: 404.
pub(super) fn not_found(code: S3ErrorCode, default_message: &'static str) -> S3Error {
    refusal(code, StatusCode::NOT_FOUND, default_message)
}

/// Adds headers to an error with a message, and the type of that: s3s adds none to headers that are set.
pub(super) fn with_headers(
    mut error: S3Error,
    headers: impl IntoIterator<Item = (HeaderName, String)>,
) -> S3Error {
    let mut all = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/xml"))]);
    let headers = headers.into_iter();
    all.extend(headers.filter_map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?))));
    error.set_headers(all);
    error
}
