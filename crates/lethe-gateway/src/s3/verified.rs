//! The way of requests whose signer was found out to the verbs: what a signature may cover is changed only here.
//!
//! s3s checks a signature and hands some requests to a route; that makes them such that s3s reads them as they are
//! meant, and hands them to a second service that asks for no signature.

use super::access::refuse_unsigned_chunks;
use super::principal::signed_by;
use super::{lenient, xml};
use crate::auth::identity::Users;
use crate::objects::memory::Memory;
use http::header::AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{Extensions, HeaderMap, Method, Request, Response, Uri};
use s3s::route::S3Route;
use s3s::service::S3Service;
use s3s::{Body, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, TrailingHeaders};
use std::sync::Arc;

/// The service behind the signatures. Nothing may reach it but requests whose signer was found out, with the
/// [`Principal`](crate::auth::principal::Principal) in their extensions.
#[derive(Clone)]
pub(super) struct Verified {
    pub(super) service: S3Service,
    pub(super) memory: Arc<Memory>,
}

/// The trailers of a body whose request was handed on: they are there when the body is at its end.
#[derive(Clone)]
pub(super) struct Trailers(pub(super) TrailingHeaders);

impl Verified {
    /// Answers a request.
    ///
    /// # Errors
    /// Those of a body of XML that is not read; `InternalError`.
    pub(super) async fn call(&self, mut request: Request<Body>) -> S3Result<Response<Body>> {
        let method = request.method().clone();
        lenient::loosen(&method, request.headers_mut());
        let _share = match xml::has_xml(&method, request.uri()) {
            true => Some(xml::read(&mut request, &self.memory).await?),
            false => None,
        };
        self.service.call(request).await.map_err(|_| S3Error::new(S3ErrorCode::InternalError))
    }
}

/// Takes the requests that s3s would not read as they are meant.
pub(super) struct Route {
    pub(super) users: Arc<Users>,
    pub(super) verified: Verified,
}

#[async_trait::async_trait]
impl S3Route for Route {
    fn is_match(&self, method: &Method, uri: &Uri, headers: &HeaderMap, _: &mut Extensions) -> bool {
        lenient::is_needed(method, headers) || xml::has_xml(method, uri)
    }

    async fn check_access(&self, request: &mut S3Request<Body>) -> S3Result<()> {
        let principal = signed_by(&self.users, request.credentials.as_ref(), &request.headers)?;
        refuse_unsigned_chunks(&principal, &request.headers)?;
        request.extensions.insert(principal);
        Ok(())
    }

    async fn call(&self, request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        let mut headers = request.headers;
        headers.remove(AUTHORIZATION);
        let mut verified = Request::new(request.input);
        *verified.method_mut() = request.method;
        *verified.uri_mut() = without_signature(&request.uri);
        *verified.headers_mut() = headers;
        *verified.extensions_mut() = request.extensions;
        if let Some(trailers) = request.trailing_headers {
            verified.extensions_mut().insert(Trailers(trailers));
        }
        let (parts, body) = self.verified.call(verified).await?.into_parts();
        let mut response = S3Response::new(body);
        response.status = Some(parts.status);
        response.headers = parts.headers;
        response.extensions = parts.extensions;
        Ok(response)
    }
}

/// The same without the parameters of a signature in the URL.
fn without_signature(uri: &Uri) -> Uri {
    let query = uri.query().unwrap_or_default();
    let is_signature = |pair: &&str| pair.get(..6).is_some_and(|name| name.eq_ignore_ascii_case("x-amz-"));
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_signature(pair)).collect();
    let target = format!("{}?{}", uri.path(), kept.join("&"));
    let mut parts = uri.clone().into_parts();
    // The rest of a valid target is valid.
    parts.path_and_query = PathAndQuery::try_from(target).ok();
    Uri::from_parts(parts).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_goes_out_of_the_url_and_nothing_else_does() {
        let signed =
            Uri::from_static("/b/k%20?x-id=GetObject&X-Amz-Signature=aa&versionId=null&X-Amz-Date=1");
        assert_eq!(without_signature(&signed), "/b/k%20?x-id=GetObject&versionId=null");
    }
}
