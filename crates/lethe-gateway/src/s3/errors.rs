//! Errors of the gateway in the words of S3.

use crate::device::DeviceError;
use crate::error::Error;
use http::header::{CONTENT_RANGE, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use s3s::{S3Error, S3ErrorCode};

impl From<Error> for S3Error {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        let code = match error {
            Error::NoSuchBucket => S3ErrorCode::NoSuchBucket,
            Error::BucketExists => S3ErrorCode::BucketAlreadyOwnedByYou,
            Error::BucketNotEmpty { .. } => S3ErrorCode::BucketNotEmpty,
            Error::NoSuchKey => S3ErrorCode::NoSuchKey,
            Error::NoSuchUpload => S3ErrorCode::NoSuchUpload,
            Error::PartNumber(_) => S3ErrorCode::InvalidArgument,
            Error::InvalidPart(_) => S3ErrorCode::InvalidPart,
            Error::NoParts => S3ErrorCode::MalformedXML,
            Error::InvalidPartOrder => S3ErrorCode::InvalidPartOrder,
            Error::PartTooSmall { .. } => S3ErrorCode::EntityTooSmall,
            Error::PreconditionFailed(_) => S3ErrorCode::PreconditionFailed,
            Error::NotModified => S3ErrorCode::NotModified,
            Error::RangeNotSatisfiable { bytes } => return range(bytes, text),
            Error::MetadataTooLarge { .. } => S3ErrorCode::MetadataTooLarge,
            Error::WrongLength { .. } => S3ErrorCode::IncompleteBody,
            Error::BadDigest(_) => S3ErrorCode::BadDigest,
            Error::Body(source) => return body(&*source),
            Error::Full { .. } | Error::Device(DeviceError::Full | DeviceError::RowsFull) => {
                let code = S3ErrorCode::Custom("InsufficientStorage".into());
                let mut answer = S3Error::with_message(code, text);
                answer.set_status_code(StatusCode::INSUFFICIENT_STORAGE);
                return answer;
            }
            Error::Device(DeviceError::Unavailable(_) | DeviceError::Closed) => {
                S3ErrorCode::ServiceUnavailable
            }
            Error::Device(DeviceError::Tampered(_)) => S3ErrorCode::InternalError,
        };
        S3Error::with_message(code, text)
    }
}

fn range(bytes: u64, text: String) -> S3Error {
    let mut answer = S3Error::with_message(S3ErrorCode::InvalidRange, text);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    if let Ok(value) = HeaderValue::from_str(&format!("bytes */{bytes}")) {
        headers.insert(CONTENT_RANGE, value);
    }
    answer.set_headers(headers);
    answer
}

/// s3s keeps the types of these errors to itself; their texts are what tells them apart.
fn body(source: &(dyn std::error::Error + Send + Sync)) -> S3Error {
    let text = source.to_string();
    let (code, message) = if text.contains("Sha256Mismatch") {
        (
            S3ErrorCode::Custom("XAmzContentSHA256Mismatch".into()),
            "The SHA-256 in x-amz-content-sha256 does not match the body.",
        )
    } else if text.contains("SignatureMismatch") {
        (S3ErrorCode::SignatureDoesNotMatch, "The signature of a chunk or of the trailer does not match.")
    } else if text.contains(crate::body_timeout::TOO_LATE) {
        (S3ErrorCode::RequestTimeout, "No byte of the body came within the time allowed.")
    } else {
        (
            S3ErrorCode::IncompleteBody,
            "The body ended early, is longer than announced, or is not in the announced encoding.",
        )
    };
    let mut answer = S3Error::with_message(code, message);
    if answer.status_code().is_none() {
        answer.set_status_code(StatusCode::BAD_REQUEST);
    }
    answer
}
