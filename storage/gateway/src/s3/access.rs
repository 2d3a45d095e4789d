//! Access to buckets: the principal, the account of the bucket, the right to it, and the refusal of unsupported
//! requests.

use super::principal::principal;
use super::{unsupported, version_2, versions};
use crate::auth::identity::Users;
use crate::auth::rights::Action;
use crate::http::protocol::Verb;
use crate::objects::account::Account;
use crate::objects::gateway::Gateway;
use http::header::AUTHORIZATION;
use http::{Extensions, HeaderMap};
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::path::S3Path;
use s3s::{S3Error, S3Result, s3_error};
use std::sync::Arc;

/// Knows no keys. s3s asks [`Access`] only if it has something that knows keys. Signatures are checked and removed
/// before a request reaches s3s.
pub(super) struct NoKeys;

#[async_trait::async_trait]
impl S3Auth for NoKeys {
    async fn get_secret_key(&self, _: &str) -> S3Result<SecretKey> {
        Err(s3_error!(InvalidAccessKeyId))
    }
}

/// The users of the gateway, for the verbs that look for an account among them.
#[derive(Clone)]
struct KnownUsers(Arc<Users>);

/// Returns the users of the gateway.
///
/// # Errors
/// `AccessDenied` if the request was not admitted.
pub(super) fn users(extensions: &Extensions) -> S3Result<&Users> {
    let KnownUsers(users) = extensions.get().ok_or_else(|| s3_error!(AccessDenied))?;
    Ok(users)
}

/// The name of the account that a request was admitted to.
#[derive(Clone)]
struct AdmittedAccount(Arc<str>);

/// Returns the account that a request was admitted to.
///
/// # Errors
/// `AccessDenied` if the request was not admitted.
pub(super) fn target(gateway: &Gateway, extensions: &Extensions) -> S3Result<Account> {
    let AdmittedAccount(name) = extensions.get().ok_or_else(|| s3_error!(AccessDenied))?;
    Ok(gateway.account(name))
}

/// Returns the action that a verb needs. A verb that is not listed, or that s3s learns later, is for the owner only.
fn action(verb: &str) -> Action {
    match verb {
        "HeadBucket"
        | "GetBucketLocation"
        | "ListObjects"
        | "ListObjectsV2"
        | "ListObjectVersions"
        | "ListMultipartUploads" => Action::List,
        "GetObject" | "HeadObject" | "GetObjectAttributes" => Action::Read,
        "PutObject"
        | "CopyObject"
        | "CreateMultipartUpload"
        | "UploadPart"
        | "UploadPartCopy"
        | "ListParts"
        | "CompleteMultipartUpload"
        | "AbortMultipartUpload"
        | "DeleteObject"
        | "DeleteObjects" => Action::Write,
        "GetBucketAcl" | "GetObjectAcl" => Action::ReadGrants,
        "PutBucketAcl" | "PutObjectAcl" => Action::WriteGrants,
        _ => Action::Own,
    }
}

/// Admits requests, and refuses those with unsupported features.
pub(super) struct Access {
    pub(super) gateway: Gateway,
    pub(super) users: Arc<Users>,
}

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let verb = context.s3_op().name().to_owned();
        if let Some(slot) = context.extensions_mut().get::<Verb>() {
            slot.name(&*verb);
        }
        let principal = principal(context.extensions_mut())?.clone();
        let account = match context.s3_path() {
            S3Path::Root => principal.own(&self.gateway)?,
            // Created in the principal's own account, even if others have a bucket of this name.
            S3Path::Bucket { .. } if verb == "CreateBucket" => principal.own(&self.gateway)?,
            S3Path::Bucket { bucket } => principal.admit(&self.gateway, action(&verb), bucket, None)?,
            S3Path::Object { bucket, key } => {
                let version = versions::id_in_query(context.uri())?;
                principal.admit(&self.gateway, action(&verb), bucket, Some((key, version)))?
            }
        };
        unsupported::check_query(&verb, context.uri())?;
        unsupported::check_headers(&verb, context.headers(), account.name())?;
        context.extensions_mut().insert(KnownUsers(Arc::clone(&self.users)));
        context.extensions_mut().insert(AdmittedAccount(account.name().into()));
        Ok(())
    }
}

/// Refuses headers with signatures of version 2, which s3s would accept: no client of today sends them.
pub(super) fn refuse_version_2(headers: &HeaderMap) -> Option<S3Error> {
    let authorization = headers.get(AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
    let is_version_2 = authorization.starts_with(b"AWS ");
    is_version_2.then(|| s3_error!(InvalidRequest, "{}", version_2::REFUSED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_with_signatures_of_version_2_do_not_get_through() {
        let refused = |value: &'static str| {
            let value = http::HeaderValue::from_static(value);
            refuse_version_2(&HeaderMap::from_iter([(AUTHORIZATION, value)])).is_some()
        };
        assert!(refused("AWS a:b"));
        assert!(!refused("AWS4-HMAC-SHA256 Credential=a"));
    }
}
