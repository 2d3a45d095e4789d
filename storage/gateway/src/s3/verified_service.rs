//! The service for verified requests.

use super::verbs::S3Api;
use super::{access, header_compat, xml};
use crate::auth::identity::Users;
use crate::objects::gateway::Gateway;
use crate::objects::memory::Memory;
use http::{Request, Response};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{Body, S3Error, S3ErrorCode, S3Result};
use std::sync::Arc;

/// Serves the verbs. Only requests whose signature was checked may reach it, with the
/// [`Principal`](crate::auth::principal::Principal) in their extensions.
pub(super) struct VerifiedService {
    pub(super) service: S3Service,
    pub(super) memory: Arc<Memory>,
}

impl VerifiedService {
    /// Creates the service over a gateway.
    pub(super) fn new(gateway: Gateway, users: Arc<Users>) -> Self {
        let memory = Arc::clone(&gateway.inner.memory);
        let mut builder = S3ServiceBuilder::new(S3Api { gateway: gateway.clone() });
        builder.set_auth(access::NoKeys);
        builder.set_access(access::Access { gateway, users });
        VerifiedService { service: builder.build(), memory }
    }

    /// Answers a request, after changing it so that s3s reads it correctly.
    ///
    /// # Errors
    /// The errors of an XML body that cannot be read; `InternalError`.
    pub(super) async fn call(&self, mut request: Request<Body>) -> S3Result<Response<Body>> {
        let method = request.method().clone();
        header_compat::normalize(&method, request.headers_mut());
        let _share = match xml::has_xml(&method, request.uri()) {
            true => Some(xml::read(&mut request, &self.memory).await?),
            false => None,
        };
        self.service.call(request).await.map_err(|_| S3Error::new(S3ErrorCode::InternalError))
    }
}
