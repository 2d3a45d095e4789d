//! Swift as a door.

use super::address::Address;
use super::cors;
use super::metadata::put;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::service::Swift;
use crate::auth::identity::{AccountName, Tokens, Users};
use crate::catalogue::UnixMillis;
use crate::http::body_timeout::RequestBody;
use crate::http::door::{BUSY, BoxError, Door, Visit};
use crate::objects::gateway::Gateway;
use axum::body::Body;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use std::sync::Arc;

/// Answers clients of Swift.
pub struct SwiftServer {
    swift: Swift,
}

impl SwiftServer {
    /// A door to a gateway, for its users. Clients reach it at this address.
    pub fn new(gateway: Gateway, users: Arc<Users>, address: Address) -> Self {
        SwiftServer { swift: Swift { gateway, users, tokens: Tokens::default(), address } }
    }

    async fn dispatch(&self, request: Request<RequestBody>, visit: &Visit) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let (method, now) = (parts.method.clone(), self.swift.gateway.inner.now());
        let account = self.swift.account_with_token(&parts.headers, now);
        if visit.entrance.admit(account.as_ref().map(AccountName::as_str), &parts, &body).is_err() {
            return self.refuse(visit, BUSY);
        }
        let origin = cors::Origin::of(&parts.headers);
        let path = parts.uri.path().to_owned();
        let mut answer = match RequestHead::read(parts, &self.swift.address, visit.peer, now) {
            Ok(head) => self.answer_head(&head, Body::new(body), visit).await,
            Err(refusal) => Err(refusal),
        }
        .unwrap_or_else(|refusal| refusal.into_response(&method));
        if let Some(origin) = origin {
            self.swift.allow_origin(&origin, &path, &mut answer);
        }
        numbered(&mut answer, visit, now);
        answer
    }

    async fn answer_head(&self, head: &RequestHead, body: Body, visit: &Visit) -> Outcome<Response<Body>> {
        let mut answer = self.swift.route(head, body, &visit.verb).await?;
        complete(head, &mut answer);
        Ok(answer)
    }
}

/// Fills in what every answer has.
fn complete(head: &RequestHead, answer: &mut Response<Body>) {
    use http_body::Body as _;
    let has_no_length =
        answer.status() == StatusCode::NO_CONTENT || answer.status() == StatusCode::NOT_MODIFIED;
    let exact = answer.body().size_hint().exact();
    let headers = answer.headers_mut();
    if !headers.contains_key(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=UTF-8"));
    }
    if !headers.contains_key(CONTENT_LENGTH)
        && !has_no_length
        && let Some(length) = exact
    {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    if head.is_head() {
        *answer.body_mut() = Body::empty();
    }
}

/// `tx`, 21 hexadecimal digits, the time: the form that clients look for.
fn numbered(answer: &mut Response<Body>, visit: &Visit, now: UnixMillis) {
    let id = format!("tx00000{}-{:010x}", visit.id, now.seconds());
    put(answer.headers_mut(), "x-trans-id", &id);
    put(answer.headers_mut(), "x-openstack-request-id", &id);
}

impl Door for SwiftServer {
    type Body = Body;

    async fn answer(&self, request: Request<RequestBody>, visit: Visit) -> Result<Response<Body>, BoxError> {
        Ok(self.dispatch(request, &visit).await)
    }

    fn refuse(&self, visit: &Visit, why: &'static str) -> Response<Body> {
        let mut answer = Refusal::for_now(why).into_response(&Method::GET);
        numbered(&mut answer, visit, self.swift.gateway.inner.now());
        answer
    }
}
