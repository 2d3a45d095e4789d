//! Who may ask, and what is refused because it would not be kept.

use super::Credentials;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Method, Uri};
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use std::sync::{Arc, OnceLock};
use subtle::ConstantTimeEq;

/// What buckets and objects name as their owner.
pub(super) const OWNER: &str = "lethe";

/// Knows one pair of keys.
pub(super) struct OnePair {
    credentials: Credentials,
}

impl OnePair {
    pub(super) fn new(credentials: Credentials) -> Self {
        OnePair { credentials }
    }
}

#[async_trait::async_trait]
impl S3Auth for OnePair {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        let known = self.credentials.access_key.as_bytes();
        if bool::from(known.ct_eq(access_key.as_bytes())) {
            Ok(SecretKey::from(self.credentials.secret_key.as_str()))
        } else {
            Err(s3_error!(
                InvalidAccessKeyId,
                "The access key is not the one that this gateway was started with."
            ))
        }
    }
}

/// Where the server finds the name of the verb that a request turned out to be.
#[derive(Clone, Default)]
pub(crate) struct Verb(pub(crate) Arc<OnceLock<String>>);

/// What a request without a signature is told.
pub(super) const UNSIGNED: &str =
    "The request is not signed; sign it (version 4) with the keys that this gateway was started with.";

/// Refuses requests that ask for what would not be kept, and those without a signature.
pub(super) struct Refusals {
    /// Whether somebody else has checked the signature and taken it away.
    pub(super) verified: bool,
}

#[async_trait::async_trait]
impl S3Access for Refusals {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let verb = context.s3_op().name().to_owned();
        if let Some(slot) = context.extensions_mut().get::<Verb>() {
            // Set once: a request is one verb.
            let _ = slot.0.set(verb);
        }
        if !self.verified && context.credentials().is_none() {
            return Err(S3Error::with_message(S3ErrorCode::AccessDenied, UNSIGNED));
        }
        refuse(context.headers())
    }
}

fn refuse(headers: &HeaderMap) -> S3Result<()> {
    for (name, value) in headers {
        let value = value.as_bytes();
        match name.as_str() {
            "x-amz-acl" if !matches!(value, b"private" | b"bucket-owner-full-control") => {
                return Err(s3_error!(
                    AccessControlListNotSupported,
                    "There is one owner and no one else to let in: only the ACLs private and bucket-owner-full-control \
                     are known."
                ));
            }
            "x-amz-expected-bucket-owner" | "x-amz-source-expected-bucket-owner"
                if value != OWNER.as_bytes() =>
            {
                return Err(s3_error!(
                    AccessDenied,
                    "The bucket's owner is not the one expected; every bucket's owner is \"{OWNER}\"."
                ));
            }
            "x-amz-server-side-encryption" if value != b"AES256" => {
                return Err(not_kept("keys of a key service: everything is sealed with the vault's key"));
            }
            "x-amz-tagging" => return Err(not_kept("tags: use metadata")),
            "x-amz-bucket-object-lock-enabled" if value == b"true" => {
                return Err(not_kept("object lock"));
            }
            "x-amz-website-redirect-location" => return Err(not_kept("redirects")),
            "x-amz-storage-class" if value != b"STANDARD" => {
                return Err(s3_error!(InvalidStorageClass, "There is one storage class, STANDARD."));
            }
            name if name.starts_with("x-amz-grant-") => {
                return Err(not_kept("grants: there is one owner"));
            }
            name if name.starts_with("x-amz-object-lock-") => return Err(not_kept("object lock")),
            name if name.contains("server-side-encryption-customer-") => {
                return Err(not_kept("customer keys: everything is sealed with the vault's key"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn not_kept(what: &str) -> S3Error {
    S3Error::with_message(
        S3ErrorCode::NotImplemented,
        format!("This gateway has no {what}. Leave the header out."),
    )
}

/// Refuses signatures of version 2 and forms: version 2 signs with SHA-1 and is not compared in constant time.
pub(crate) fn refuse_unsigned_forms(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<S3Error> {
    let query = uri.query().unwrap_or_default();
    let names = || query.split('&').map(|pair| pair.split('=').next());
    let header = |name| headers.get(name).map_or(&b""[..], |value| value.as_bytes());
    // A name may come percent-encoded; a query that s3s would decode to `Signature` must not slip through.
    let version_2 = header(AUTHORIZATION).starts_with(b"AWS ")
        || names().flatten().any(|name| percent_encoding::percent_decode_str(name).eq("Signature".bytes()));
    if version_2 {
        return Some(s3_error!(
            InvalidRequest,
            "Signatures of version 2 are not accepted. Sign the request with version 4 (AWS4-HMAC-SHA256)."
        ));
    }
    let form = header(CONTENT_TYPE).to_ascii_lowercase().starts_with(b"multipart/form-data");
    (*method == Method::POST && form).then(|| {
        s3_error!(
            NotImplemented,
            "Uploads by form are not accepted. Use PUT, with a signature in the header or in the URL."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(method: Method, uri: &'static str, headers: &[(&'static str, &'static str)]) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| {
                let name = http::HeaderName::from_static(name);
                (name, http::HeaderValue::from_static(value))
            })
            .collect();
        refuse_unsigned_forms(&method, &Uri::from_static(uri), &headers).is_some()
    }

    #[test]
    fn signatures_of_version_2_and_forms_do_not_get_through() {
        assert!(refused(Method::GET, "/b/k?AWSAccessKeyId=a&Signature=b", &[]));
        assert!(refused(Method::GET, "/b/k?%53ignature=b", &[]));
        assert!(refused(Method::GET, "/b/k", &[("authorization", "AWS a:b")]));
        let form = ("content-type", "Multipart/form-data; boundary=x");
        assert!(refused(Method::POST, "/b", &[form]));
        assert!(!refused(Method::PUT, "/b/k", &[form]));
        assert!(!refused(
            Method::GET,
            "/b/k?X-Amz-Signature=b",
            &[("authorization", "AWS4-HMAC-SHA256 Credential=a")]
        ));
    }
}
