//! The Swift protocol of a server.

use super::address::Address;
use super::cors;
use super::metadata::put;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::service::Swift;
use crate::auth::identity::{AccountName, Tokens, Users};
use crate::catalogue::UnixMillis;
use crate::http::body_timeout::RequestBody;
use crate::http::protocol::{BUSY, BoxError, Protocol, RequestContext};
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
    /// Creates the Swift server of a gateway, for its users. Clients reach it at this address.
    pub fn new(gateway: Gateway, users: Arc<Users>, address: Address) -> Self {
        SwiftServer { swift: Swift { gateway, users, tokens: Tokens::default(), address } }
    }

    async fn dispatch(&self, request: Request<RequestBody>, context: &RequestContext) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let (method, now) = (parts.method.clone(), self.swift.gateway.inner.now());
        let account = self.swift.account_with_token(&parts.headers, now);
        if context.request_admission.admit(account.as_ref().map(AccountName::as_str), &parts, &body).is_err()
        {
            return self.refuse(context, BUSY);
        }
        let origin = cors::Origin::of(&parts.headers);
        let path = parts.uri.path().to_owned();
        let mut answer = match RequestHead::read(parts, &self.swift.address, context.peer, now) {
            Ok(head) => self.answer_head(&head, Body::new(body), context).await,
            Err(refusal) => Err(refusal),
        }
        .unwrap_or_else(|refusal| refusal.into_response(&method));
        if let Some(origin) = origin {
            self.swift.allow_origin(&origin, &path, &mut answer);
        }
        set_request_id(&mut answer, context, now);
        answer
    }

    async fn answer_head(
        &self,
        head: &RequestHead,
        body: Body,
        context: &RequestContext,
    ) -> Outcome<Response<Body>> {
        let mut answer = self.swift.route(head, body, &context.verb).await?;
        complete(head, &mut answer);
        Ok(answer)
    }
}

/// Adds the headers that every answer has.
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

/// Sets the request's number: `tx`, 21 hexadecimal digits and the time, the form that clients look for.
fn set_request_id(answer: &mut Response<Body>, context: &RequestContext, now: UnixMillis) {
    let id = format!("tx00000{}-{:010x}", context.id, now.seconds());
    put(answer.headers_mut(), "x-trans-id", &id);
    put(answer.headers_mut(), "x-openstack-request-id", &id);
}

impl Protocol for SwiftServer {
    type Body = Body;

    async fn answer(
        &self,
        request: Request<RequestBody>,
        context: RequestContext,
    ) -> Result<Response<Body>, BoxError> {
        Ok(self.dispatch(request, &context).await)
    }

    fn refuse(&self, context: &RequestContext, why: &'static str) -> Response<Body> {
        let mut answer = Refusal::unavailable(why).into_response(&Method::GET);
        set_request_id(&mut answer, context, self.swift.gateway.inner.now());
        answer
    }
}
