//! The error of a body that is not the signed one.

use crate::http::body_timeout::BodyError;

/// The reason why a body is not the signed one.
#[derive(Debug, thiserror::Error)]
pub(in crate::s3) enum PayloadError {
    #[error("the body does not match x-amz-content-sha256")]
    Sha256,
    #[error("a chunk or the trailer does not match its signature")]
    Signature,
    #[error("the body in chunks is malformed: {0}")]
    Malformed(&'static str),
    #[error("its chunks have more or fewer bytes than x-amz-decoded-content-length")]
    WrongLength,
    #[error("the body ended early")]
    Incomplete,
    #[error("the body could not be read")]
    Body(#[source] BodyError),
}
