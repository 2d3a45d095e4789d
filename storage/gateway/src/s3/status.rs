//! The status of an answer, for the server.

use http::StatusCode;

/// An extension of an answer whose status is not the one that s3s gives it.
#[derive(Clone, Copy)]
pub(super) struct Status(pub(super) StatusCode);
