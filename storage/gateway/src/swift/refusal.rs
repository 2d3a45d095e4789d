//! The refusal of a request: a status and a message.

use super::answer::PLAIN_TEXT;
use super::range::MAX_RANGES;
use crate::device::DeviceError;
use crate::error::Error;
use crate::http::body_timeout::{BodyError, find_cause};
use crate::http::protocol::{BUSY, RETRY_AFTER as RETRY_SECONDS};
use axum::body::Body;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use std::borrow::Cow;

/// A refusal. Its message has no names.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    text: Cow<'static, str>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The outcome of a verb.
pub(super) type Outcome<T> = Result<T, Refusal>;

impl Refusal {
    pub(super) fn new(status: StatusCode, text: impl Into<Cow<'static, str>>) -> Self {
        Refusal { status, text: text.into(), headers: Vec::new() }
    }

    pub(super) fn bad_request(text: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, text)
    }

    pub(super) fn not_found() -> Self {
        Refusal::new(StatusCode::NOT_FOUND, "The resource could not be found.")
    }

    /// Returns the refusal for an unknown user.
    pub(super) fn unauthorized(text: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new(StatusCode::UNAUTHORIZED, text)
            .with(WWW_AUTHENTICATE, HeaderValue::from_static("Swift realm=\"ameles\""))
    }

    /// Returns the refusal for a principal without the right.
    pub(super) fn forbidden(text: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new(StatusCode::FORBIDDEN, text)
    }

    pub(super) fn precondition_failed(text: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new(StatusCode::PRECONDITION_FAILED, text)
    }

    pub(super) fn too_large(text: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    }

    /// Returns the refusal for a request that the client may retry soon.
    pub(super) fn unavailable(text: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
            .with(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS))
    }

    pub(super) fn no_such_method() -> Self {
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "The method is not allowed for this resource.")
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Converts the refusal to an answer. A `HEAD` gets no message.
    pub(super) fn into_response(self, method: &Method) -> Response<Body> {
        let silent = self.status == StatusCode::NOT_MODIFIED || *method == Method::HEAD;
        let length = if silent { 0 } else { self.text.len() };
        let body = if silent { Body::empty() } else { Body::from(self.text.into_owned()) };
        let mut answer = Response::new(body);
        *answer.status_mut() = self.status;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, PLAIN_TEXT);
        if self.status != StatusCode::NOT_MODIFIED {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        answer
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let text = error.client_message();
        let status = match error {
            Error::NoSuchContainer | Error::NoSuchKey | Error::NoSuchVersion | Error::DeleteMarker { .. } => {
                return Refusal::not_found();
            }
            Error::ContainerNotEmpty { objects } => {
                return Refusal::new(
                    StatusCode::CONFLICT,
                    format!(
                        "There was a conflict when trying to complete your request. The container still holds {objects} \
                         objects, or old versions that only S3 lists."
                    ),
                );
            }
            Error::ContainerExists => StatusCode::CONFLICT,
            Error::PreconditionFailed(_) | Error::NoArchive => StatusCode::PRECONDITION_FAILED,
            Error::OverQuota(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Error::NotModified => StatusCode::NOT_MODIFIED,
            Error::RangeNotSatisfiable { bytes } => return unsatisfiable(bytes),
            Error::BadDigest(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::Body(source) => match find_cause(&*source) {
                Some(BodyError::Overloaded(_)) => return Refusal::unavailable(BUSY),
                Some(BodyError::TooLate) => StatusCode::REQUEST_TIMEOUT,
                _ => StatusCode::BAD_REQUEST,
            },
            Error::Full { .. }
            | Error::OverRowShare
            | Error::Device(DeviceError::Full | DeviceError::RowsFull) => StatusCode::INSUFFICIENT_STORAGE,
            Error::Device(
                DeviceError::Unavailable(_)
                | DeviceError::DiskFull
                | DeviceError::StoreFull
                | DeviceError::Closed,
            ) => return Refusal::unavailable(text),
            Error::Device(DeviceError::Tampered(_)) => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        Refusal::new(status, text)
    }
}

/// Returns the refusal for ranges outside of the object.
pub(super) fn unsatisfiable(bytes: u64) -> Refusal {
    let refusal = Refusal::new(
        StatusCode::RANGE_NOT_SATISFIABLE,
        format!(
            "No range lies within the object's {bytes} bytes, there are more than {MAX_RANGES} ranges, or several ranges \
             together have more than twice the object's bytes."
        ),
    );
    match HeaderValue::try_from(format!("bytes */{bytes}")) {
        Ok(range) => refusal.with(CONTENT_RANGE, range),
        Err(_) => refusal,
    }
}
