//! The gateway's errors as S3 errors.

use super::form::FileError;
use super::refusal::{refusal, with_headers};
use super::retryable::{body_not_read, slow_down};
use super::version_4::PayloadError;
use super::{checksums, error_messages, versions};
use crate::catalogue::{UnixMillis, VersionId};
use crate::device::DeviceError;
use crate::error::Error;
use crate::http::body_timeout::find_cause;
use http::header::{ALLOW, CONTENT_RANGE, LAST_MODIFIED};
use http::{HeaderName, StatusCode};
use s3s::{S3Error, S3ErrorCode, s3_error};
use std::borrow::Cow;

impl From<Error> for S3Error {
    fn from(error: Error) -> Self {
        let text = default_message(&error).map_or_else(|| error.client_message(), str::to_owned);
        let code = match error {
            Error::NoSuchContainer => S3ErrorCode::NoSuchBucket,
            Error::ContainerExists => S3ErrorCode::BucketAlreadyOwnedByYou,
            Error::ContainerNotEmpty { .. } => S3ErrorCode::BucketNotEmpty,
            Error::NoSuchKey => S3ErrorCode::NoSuchKey,
            Error::NoSuchVersion => S3ErrorCode::NoSuchVersion,
            Error::DeleteMarker { version, modified, is_named } => {
                return delete_marker(version, modified, is_named);
            }
            Error::OtherVersions => S3ErrorCode::InvalidBucketState,
            Error::OverQuota(_) => S3ErrorCode::EntityTooLarge,
            Error::NoArchive => S3ErrorCode::InvalidRequest,
            Error::Metadata(_) => S3ErrorCode::InvalidArgument,
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
            Error::WrongSize { .. } => S3ErrorCode::InvalidRequest,
            Error::BadDigest(_) => S3ErrorCode::BadDigest,
            Error::WrongChecksum { algorithm, part } => return checksums::bad_digest(algorithm, part),
            Error::Body(source) => return body(&*source),
            Error::Full { .. }
            | Error::OverRowShare
            | Error::Device(DeviceError::Full | DeviceError::RowsFull) => {
                let code = S3ErrorCode::Custom("InsufficientStorage".into());
                return refusal(code, StatusCode::INSUFFICIENT_STORAGE, text);
            }
            Error::Busy => return slow_down("Too many transfers are running. Try again in a moment."),
            Error::Device(
                DeviceError::Unavailable(_)
                | DeviceError::DiskFull
                | DeviceError::StoreFull
                | DeviceError::Closed,
            ) => S3ErrorCode::ServiceUnavailable,
            Error::Device(DeviceError::Tampered(_)) => S3ErrorCode::InternalError,
        };
        S3Error::with_message(code, text)
    }
}

/// Returns S3's own message, if it has one: clients show it, and some look for it.
fn default_message(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::NoSuchContainer => "The specified bucket does not exist.",
        Error::ContainerExists => {
            "Your previous request to create the named bucket succeeded and you already own it."
        }
        Error::ContainerNotEmpty { .. } => "The bucket you tried to delete is not empty.",
        Error::NoSuchKey => "The specified key does not exist.",
        Error::NoSuchVersion => "The specified version does not exist.",
        Error::NoSuchUpload => {
            "The specified multipart upload does not exist. The upload ID may be invalid, or the upload may have been \
             aborted or completed."
        }
        Error::PartNumber(_) => "Part number must be an integer between 1 and 10000, inclusive.",
        Error::NoParts => error_messages::MALFORMED_XML,
        Error::InvalidPartOrder => {
            "The list of parts was not in ascending order. Parts must be ordered by part number."
        }
        Error::PreconditionFailed(_) => "At least one of the pre-conditions you specified did not hold.",
        Error::RangeNotSatisfiable { .. } => "The requested range is not satisfiable",
        Error::WrongLength { .. } => error_messages::WRONG_LENGTH,
        Error::BadDigest("Content-MD5") => "The Content-MD5 you specified did not match what we received.",
        Error::InvalidPart(_) => {
            "One or more of the specified parts could not be found.  The part may not have been uploaded, or the \
             specified entity tag may not match the part's entity tag."
        }
        Error::PartTooSmall { .. } => "Your proposed upload is smaller than the minimum allowed size",
        Error::MetadataTooLarge { .. } => "Your metadata headers exceed the maximum allowed metadata size",
        _ => return None,
    })
}

/// Returns the answer for a delete marker: as the newest version, or as the named version.
fn delete_marker(version: VersionId, modified: UnixMillis, is_named: bool) -> S3Error {
    let of_marker = [
        (HeaderName::from_static("x-amz-delete-marker"), "true".to_owned()),
        (HeaderName::from_static("x-amz-version-id"), versions::id_text(version)),
    ];
    if !is_named {
        return with_headers(s3_error!(NoSuchKey, "The specified key does not exist."), of_marker);
    }
    let error = s3_error!(MethodNotAllowed, "The specified method is not allowed against this resource.");
    let date = httpdate::fmt_http_date(modified.into());
    let of_named = [(ALLOW, "DELETE".to_owned()), (LAST_MODIFIED, date)];
    with_headers(error, of_marker.into_iter().chain(of_named))
}

fn range(bytes: u64, text: String) -> S3Error {
    let error = S3Error::with_message(S3ErrorCode::InvalidRange, text);
    with_headers(error, [(CONTENT_RANGE, format!("bytes */{bytes}"))])
}

/// Returns the error for a body that could not be read to its end, or has the wrong content.
fn body(source: &(dyn std::error::Error + Send + Sync + 'static)) -> S3Error {
    let (code, message): (_, Cow<'static, str>) = match (find_cause(source), find_cause(source)) {
        (Some(PayloadError::Sha256), _) => (
            S3ErrorCode::Custom("XAmzContentSHA256Mismatch".into()),
            "The SHA-256 in x-amz-content-sha256 does not match the body.".into(),
        ),
        (Some(PayloadError::Signature), _) => (
            S3ErrorCode::SignatureDoesNotMatch,
            "The signature of a chunk or of the trailer does not match.".into(),
        ),
        (Some(PayloadError::WrongLength), _) => {
            (S3ErrorCode::IncompleteBody, error_messages::WRONG_LENGTH.into())
        }
        (Some(PayloadError::Malformed(why)), _) => {
            (S3ErrorCode::InvalidRequest, format!("The body in chunks is malformed: {why}.").into())
        }
        (_, Some(FileError::TooLarge)) => {
            (S3ErrorCode::EntityTooLarge, "Your proposed upload exceeds the maximum allowed size".into())
        }
        (_, Some(FileError::TooSmall)) => (
            S3ErrorCode::EntityTooSmall,
            "Your proposed upload is smaller than the minimum allowed size".into(),
        ),
        _ => {
            let ended = || s3_error!(IncompleteBody, "The request body terminated unexpectedly");
            return body_not_read(source).unwrap_or_else(ended);
        }
    };
    let mut answer = S3Error::with_message(code, message);
    if answer.status_code().is_none() {
        answer.set_status_code(StatusCode::BAD_REQUEST);
    }
    answer
}
