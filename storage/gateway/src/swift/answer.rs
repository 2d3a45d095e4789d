//! Answers of several verbs.

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde_json::Value;

/// The type of texts for humans.
pub(super) const PLAIN_TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Returns an answer without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

pub(super) fn with_json(status: StatusCode, value: &Value) -> Response<Body> {
    let mut answer = Response::new(Body::from(value.to_string()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

pub(super) fn text(kind: &'static str, text: &'static str) -> Response<Body> {
    let mut answer = Response::new(Body::from(text));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
