//! S3 as a door.

use super::attributes::BareTag;
use super::keep_alive::{self, LongWork};
use super::verified::Verified;
use super::xml::{self, MAX_XML};
use super::{access, complete, cors, errors, form, services, signature, version_2, xml_text};
use crate::auth::identity::Users;
use crate::catalogue::Clock;
use crate::http::body_timeout::RequestBody;
use crate::http::door::{BoxError, Door, Visit};
use crate::objects::gateway::Gateway;
use crate::objects::memory::Memory;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Body as _;
use s3s::service::S3Service;
use s3s::{Body, S3Error};
use std::sync::Arc;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// Stands in the extensions of an answer whose status is not the one that s3s gives it.
#[derive(Clone, Copy)]
pub(super) struct Status(pub(super) StatusCode);

/// Answers clients of S3.
pub struct S3Door {
    desk: Arc<Desk>,
}

/// The parts that answer requests, for any client that waits.
struct Desk {
    service: S3Service,
    /// Asks for no signature.
    verified: Verified,
    users: Arc<Users>,
    clock: Clock,
    memory: Arc<Memory>,
    look: cors::Look,
}

impl S3Door {
    /// A door to a gateway, for its users.
    pub fn new(gateway: Gateway, users: Arc<Users>) -> Self {
        let clock = gateway.inner.options.clock.clone();
        let memory = Arc::clone(&gateway.inner.memory);
        let look = cors::look(gateway.clone(), Arc::clone(&users));
        let (service, verified) = services(gateway, Arc::clone(&users));
        S3Door { desk: Arc::new(Desk { service, verified, users, clock, memory, look }) }
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
        let is_form = form::is_form(request.method(), request.headers());
        let is_version_2 = !is_form && version_2::is_in(request.uri());
        let checked = match is_version_2 {
            true => version_2::check(&mut request, &self.users, self.clock.now()),
            false => signature::check(request.uri(), request.headers()),
        };
        if let Err(refusal) = checked {
            return Ok(refusal.to_http_response()?);
        }
        request.extensions_mut().insert(visit.verb.clone());
        let silence = request.body().silence();
        request.extensions_mut().insert(silence);
        if is_form {
            let answer =
                form::answer(request, &self.users, self.clock.now(), &self.verified.service, visit.tls).await;
            return answer.or_else(|refusal| Ok(refusal.to_http_response()?));
        }
        let _held = match held_whole(&request).map(|bytes| self.memory.take_bytes(bytes)).transpose() {
            Ok(share) => share,
            Err(busy) => return Ok(S3Error::from(busy).to_http_response()?),
        };
        let request = request.map(Body::http_body_unsync);
        match is_version_2 {
            // A request whose signature was found right needs no other.
            true => Ok(self.verified.call(request).await.or_else(|refusal| refusal.to_http_response())?),
            false => Ok(self.service.call(request).await?),
        }
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

impl Door for S3Door {
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
        let refusal = errors::slow_down(why);
        let mut answer = refusal.to_http_response().unwrap_or_default();
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        finished(answer, visit)
    }
}
