//! S3 as a door.

use super::attributes::BareTag;
use super::keep_alive::{self, LongWork};
use super::principal::principal;
use super::unread::slow_down;
use super::verified::Verified;
use super::version_4::Payload;
use super::xml::{self, MAX_XML};
use super::{access, complete, cors, form, verified, version_2, version_4, xml_text};
use crate::auth::identity::Users;
use crate::catalogue::Clock;
use crate::http::body_timeout::RequestBody;
use crate::http::door::{BUSY, BoxError, Door, Visit};
use crate::objects::gateway::Gateway;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Body as _;
use s3s::{Body, S3Error, S3Result};
use std::sync::Arc;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// Stands in the extensions of an answer whose status is not the one that s3s gives it.
#[derive(Clone, Copy)]
pub(super) struct Status(pub(super) StatusCode);

/// Answers clients of S3.
pub struct S3Server {
    desk: Arc<Desk>,
}

/// The parts that answer requests, for any client that waits.
struct Desk {
    verified: Verified,
    users: Arc<Users>,
    clock: Clock,
    look: cors::Look,
    /// The region that requests must be signed for, if there is one.
    region: Option<Arc<str>>,
}

impl S3Server {
    /// A door to a gateway, for its users.
    pub fn new(gateway: Gateway, users: Arc<Users>) -> Self {
        let (clock, region) = (gateway.inner.options.clock.clone(), gateway.inner.options.region.clone());
        let look = cors::look(gateway.clone(), Arc::clone(&users));
        let verified = verified(gateway, Arc::clone(&users));
        S3Server { desk: Arc::new(Desk { verified, users, clock, look, region }) }
    }
}

impl Desk {
    async fn answer(&self, request: Request<RequestBody>, visit: Visit) -> Result<Response<Body>, BoxError> {
        let response = self.dispatch(request, &visit).await?;
        Ok(finished(response, &visit))
    }

    async fn dispatch(
        &self,
        mut request: Request<RequestBody>,
        visit: &Visit,
    ) -> Result<Response<Body>, BoxError> {
        if let Some(refusal) = access::refuse_version_2(request.headers()) {
            return Ok(refusal.to_http_response()?);
        }
        request.extensions_mut().insert(visit.verb.clone());
        let answer = match form::is_form(request.method(), request.headers()) {
            true => {
                let verbs = &self.verified.service;
                form::answer(request, &self.users, self.clock.now(), verbs, self.region.as_deref(), visit.tls)
                    .await
            }
            false => self.signed(request, visit).await,
        };
        answer.or_else(|refusal| Ok(refusal.to_http_response()?))
    }

    /// Answers a request that is no form.
    async fn signed(&self, request: Request<RequestBody>, visit: &Visit) -> S3Result<Response<Body>> {
        let _held = held_whole(&request).map(|bytes| self.verified.memory.take_bytes(bytes)).transpose()?;
        let payload = Payload::of(request.headers())?;
        let (mut parts, body) = request.into_parts();
        let (users, now) = (&self.users, self.clock.now());
        let signed = match version_2::is_in(&parts.uri) {
            true => version_2::check(&mut parts, users, now).map(|()| None)?,
            false => version_4::check(&mut parts, payload, users, now, self.region.as_deref())?,
        };
        let account = principal(&parts.extensions)?.identity().map(|identity| identity.account.as_str());
        visit.entrance.admit(account, &parts, &body).map_err(|_| slow_down(BUSY))?;
        let body = payload.body(&mut parts, body, signed)?;
        self.verified.call(Request::from_parts(parts, body)).await
    }
}

/// Bytes of a body of XML, which is held whole.
fn held_whole(request: &Request<RequestBody>) -> Option<u64> {
    let length = request.body().size_hint().exact().unwrap_or(MAX_XML);
    (xml::has_xml(request.method(), request.uri()) && length > 0).then_some(length.min(MAX_XML))
}

/// An answer as it goes out: with sentences, numbered, in XML that parses.
fn finished(response: Response<Body>, visit: &Visit) -> Response<Body> {
    let mut response = xml_text::repaired(response, visit.verb.as_str());
    if let Some(Status(status)) = response.extensions_mut().remove() {
        *response.status_mut() = status;
    }
    if response.extensions_mut().remove::<BareTag>().is_some() {
        response = BareTag::apply(response);
    }
    numbered(complete(response, visit.id), visit)
}

fn numbered(mut response: Response<Body>, visit: &Visit) -> Response<Body> {
    if let Ok(id) = HeaderValue::from_str(&visit.id.to_string()) {
        response.headers_mut().insert("x-amz-request-id", id);
    }
    response
}

impl Door for S3Server {
    type Body = Body;

    async fn answer(
        &self,
        mut request: Request<RequestBody>,
        visit: Visit,
    ) -> Result<Response<Body>, BoxError> {
        let cors_request = cors::CorsRequest::of(&request, &self.desk.look);
        if request.method() == Method::OPTIONS {
            visit.verb.name("Preflight");
            let answer = cors_request.preflight(request.headers());
            return Ok(finished(answer.or_else(S3Error::to_http_response)?, &visit));
        }
        let long = LongWork::default();
        request.extensions_mut().insert(long.clone());
        let (desk, of_this) = (Arc::clone(&self.desk), visit.clone());
        let work = async move { desk.answer(request, of_this).await };
        // s3s logs keys, headers and signatures; they must not reach a log.
        let work = work.with_subscriber(NoSubscriber::default());
        let mut answer = keep_alive::answer(Box::pin(work), long).await?;
        cors_request.tell(&mut answer);
        Ok(numbered(answer, &visit))
    }

    fn refuse(&self, visit: &Visit, why: &'static str) -> Response<Body> {
        let refusal = slow_down(why);
        let mut answer = refusal.to_http_response().unwrap_or_default();
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        finished(answer, visit)
    }
}
