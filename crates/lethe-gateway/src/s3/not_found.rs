//! The refusal of a configuration that a bucket does not have.

use s3s::{S3Error, S3ErrorCode};

pub(super) fn not_found(code: S3ErrorCode, sentence: &'static str) -> S3Error {
    let mut error = S3Error::with_message(code, sentence);
    error.set_status_code(http::StatusCode::NOT_FOUND);
    error
}
