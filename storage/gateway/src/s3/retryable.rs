//! Errors of requests that got no permit, or whose body did not arrive. A client may retry them soon.

use super::refusal::with_headers;
use crate::http::body_timeout::{BodyError, find_cause};
use crate::http::protocol::BUSY;
use http::header::RETRY_AFTER;
use s3s::{S3Error, S3ErrorCode, s3_error};
use std::borrow::Cow;

/// Returns the error for an overloaded server.
pub(super) fn slow_down(text: impl Into<Cow<'static, str>>) -> S3Error {
    let error = S3Error::with_message(S3ErrorCode::SlowDown, text);
    with_headers(error, [(RETRY_AFTER, crate::http::protocol::RETRY_AFTER.to_owned())])
}

/// Returns the S3 error for a body that could not be read, if `error` or one of its causes says why.
pub(super) fn body_not_read(error: &(dyn std::error::Error + 'static)) -> Option<S3Error> {
    match find_cause(error)? {
        BodyError::Overloaded(_) => Some(slow_down(BUSY)),
        BodyError::TooLate => Some(s3_error!(RequestTimeout, "The request body did not arrive in time.")),
        BodyError::Connection(_) => None,
    }
}
