//! The S3 protocol of a server.

use super::attributes::UnquotedEtag;
use super::error_messages::complete;
use super::keep_alive::{self, LongWork};
use super::principal::principal;
use super::retryable::slow_down;
use super::status::Status;
use super::verified_service::VerifiedService;
use super::version_4::Payload;
use super::xml::{self, MAX_XML};
use super::{access, cors, form, version_2, version_4, xml_text};
use crate::auth::identity::Users;
use crate::catalogue::Clock;
use crate::http::body_timeout::RequestBody;
use crate::http::protocol::{BUSY, BoxError, Protocol, RequestContext};
use crate::objects::gateway::Gateway;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Body as _;
use s3s::{Body, S3Error, S3Result};
use std::sync::Arc;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// Answers clients of S3.
pub struct S3Server {
    handler: Arc<Handler>,
}

/// The parts that answer requests. They outlive a client that disconnects.
struct Handler {
    verified: VerifiedService,
    users: Arc<Users>,
    clock: Clock,
    bucket_lookup: cors::BucketLookup,
    /// The region that requests must be signed for, if there is one.
    region: Option<Arc<str>>,
}

impl S3Server {
    /// Creates the S3 server of a gateway, for its users.
    pub fn new(gateway: Gateway, users: Arc<Users>) -> Self {
        let (clock, region) = (gateway.inner.options.clock.clone(), gateway.inner.options.region.clone());
        let bucket_lookup = cors::bucket_lookup(gateway.clone(), Arc::clone(&users));
        let verified = VerifiedService::new(gateway, Arc::clone(&users));
        S3Server { handler: Arc::new(Handler { verified, users, clock, bucket_lookup, region }) }
    }
}

impl Handler {
    async fn answer(
        &self,
        request: Request<RequestBody>,
        context: RequestContext,
    ) -> Result<Response<Body>, BoxError> {
        let response = self.dispatch(request, &context).await?;
        Ok(finish(response, &context))
    }

    async fn dispatch(
        &self,
        mut request: Request<RequestBody>,
        context: &RequestContext,
    ) -> Result<Response<Body>, BoxError> {
        if let Some(refusal) = access::refuse_version_2(request.headers()) {
            return Ok(refusal.to_http_response()?);
        }
        request.extensions_mut().insert(context.verb.clone());
        let answer = match form::is_form(request.method(), request.headers()) {
            true => {
                let verbs = &self.verified.service;
                form::answer(
                    request,
                    &self.users,
                    self.clock.now(),
                    verbs,
                    self.region.as_deref(),
                    context.tls,
                )
                .await
            }
            false => self.signed(request, context).await,
        };
        answer.or_else(|refusal| Ok(refusal.to_http_response()?))
    }

    /// Answers a request that is not a form.
    async fn signed(
        &self,
        request: Request<RequestBody>,
        context: &RequestContext,
    ) -> S3Result<Response<Body>> {
        let _share = held_bytes(&request).map(|bytes| self.verified.memory.take_bytes(bytes)).transpose()?;
        let payload = Payload::of(request.headers())?;
        let (mut parts, body) = request.into_parts();
        let (users, now) = (&self.users, self.clock.now());
        let signed = match version_2::is_signed(&parts.uri) {
            true => version_2::check(&mut parts, users, now).map(|()| None)?,
            false => version_4::check(&mut parts, payload, users, now, self.region.as_deref())?,
        };
        let account = principal(&parts.extensions)?.identity().map(|identity| identity.account.as_str());
        context.request_admission.admit(account, &parts, &body).map_err(|_| slow_down(BUSY))?;
        let body = payload.body(&mut parts, body, signed)?;
        self.verified.call(Request::from_parts(parts, body)).await
    }
}

/// Returns the bytes of an XML body, which is held in memory as a whole.
fn held_bytes(request: &Request<RequestBody>) -> Option<u64> {
    let length = request.body().size_hint().exact().unwrap_or(MAX_XML);
    (xml::has_xml(request.method(), request.uri()) && length > 0).then_some(length.min(MAX_XML))
}

/// Completes an answer: with a message, a number, and XML that parses.
fn finish(response: Response<Body>, context: &RequestContext) -> Response<Body> {
    let mut response = xml_text::repair(response, context.verb.as_str());
    if let Some(Status(status)) = response.extensions_mut().remove() {
        *response.status_mut() = status;
    }
    if response.extensions_mut().remove::<UnquotedEtag>().is_some() {
        response = UnquotedEtag::apply(response);
    }
    set_request_id(complete(response, context.id), context)
}

fn set_request_id(mut response: Response<Body>, context: &RequestContext) -> Response<Body> {
    if let Ok(id) = HeaderValue::from_str(&context.id.to_string()) {
        response.headers_mut().insert("x-amz-request-id", id);
    }
    response
}

impl Protocol for S3Server {
    type Body = Body;

    async fn answer(
        &self,
        mut request: Request<RequestBody>,
        context: RequestContext,
    ) -> Result<Response<Body>, BoxError> {
        let cors_request = cors::CorsRequest::of(&request, &self.handler.bucket_lookup);
        if request.method() == Method::OPTIONS {
            context.verb.name("Preflight");
            let answer = cors_request.preflight(request.headers());
            return Ok(finish(answer.or_else(S3Error::to_http_response)?, &context));
        }
        let long_work = LongWork::default();
        request.extensions_mut().insert(long_work.clone());
        let (handler, request_context) = (Arc::clone(&self.handler), context.clone());
        let work = async move { handler.answer(request, request_context).await };
        // s3s logs keys, headers and signatures; they must not reach a log.
        let work = work.with_subscriber(NoSubscriber::default());
        let mut answer = keep_alive::answer(Box::pin(work), long_work).await?;
        cors_request.add_headers(&mut answer);
        Ok(set_request_id(answer, &context))
    }

    fn refuse(&self, context: &RequestContext, why: &'static str) -> Response<Body> {
        let refusal = slow_down(why);
        let mut answer = refusal.to_http_response().unwrap_or_default();
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        finish(answer, context)
    }
}
