//! Who asks, of which account's bucket, whether he may, and what is refused because it would not be kept.

use super::values::{self, owner_id};
use super::{checksums, version_2, versions};
use crate::auth::identity::{Caller, Role, Users};
use crate::auth::rights::{self, Asker, Wish};
use crate::catalogue::VersionId;
use crate::device::Device;
use crate::http::door::Verb;
use crate::objects::account::{Account, FIRST_ACCOUNT};
use crate::objects::gateway::Gateway;
use http::header::{AUTHORIZATION, REFERER};
use http::{Extensions, HeaderMap};
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{Credentials, S3Auth, SecretKey};
use s3s::path::S3Path;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// Knows the keys of all users.
pub(super) struct Keys {
    pub(super) users: Arc<Users>,
}

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        match self.users.by_access_key(access_key) {
            Some((_, secret)) => Ok(SecretKey::from(secret.as_str())),
            None => Err(s3_error!(InvalidAccessKeyId)),
        }
    }
}

/// Who asks. Verbs find it in the extensions of a request.
#[derive(Clone)]
pub(super) struct Requester {
    caller: Option<Caller>,
    referrer: Option<String>,
    users: Arc<Users>,
}

impl Requester {
    /// Who has signed with these credentials, whose signature was found right; nobody without them.
    ///
    /// # Errors
    /// The keys are no longer known.
    pub(super) fn new(
        users: &Arc<Users>,
        credentials: Option<&Credentials>,
        headers: &HeaderMap,
    ) -> S3Result<Self> {
        let caller = match credentials {
            None => None,
            Some(credentials) => {
                let signed_with = credentials.secret_key.expose();
                // The users may have been replaced since the signature was looked at.
                let found = users
                    .by_access_key(&credentials.access_key)
                    .filter(|(_, secret)| bool::from(secret.as_bytes().ct_eq(signed_with.as_bytes())));
                Some(found.ok_or_else(|| s3_error!(InvalidAccessKeyId))?.0)
            }
        };
        let referrer = headers.get(REFERER).and_then(|page| page.to_str().ok()).map(str::to_owned);
        Ok(Requester { caller, referrer, users: Arc::clone(users) })
    }

    fn asker(&self) -> Asker<'_> {
        Asker { caller: self.caller.as_ref(), referrer: self.referrer.as_deref() }
    }

    fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref()
    }

    /// Who begins something in an account, unless it is the account itself: another account, a member by account and
    /// user, or nobody.
    pub(super) fn initiator(&self, account: &str) -> Option<String> {
        let Some(caller) = self.caller() else { return Some(values::ANONYMOUS.into()) };
        let name = match caller.role {
            Role::Member => format!("{}/{}", caller.account.as_str(), caller.user.as_str()),
            Role::Owner | Role::Admin => caller.account.as_str().to_owned(),
        };
        (name != account).then_some(name)
    }

    /// Whether nobody has signed.
    pub(super) fn is_nobody(&self) -> bool {
        self.caller.is_none()
    }

    /// Whether everything in an account is his.
    pub(super) fn owns(&self, account: &str) -> bool {
        rights::owns(self.caller(), account)
    }

    /// Whether there are users of such an account.
    pub(super) fn knows_account(&self, name: &str) -> bool {
        self.users.has_account(name)
    }

    /// The account whose bucket is meant: the asker's own, or the first one, where others may be let in.
    ///
    /// # Errors
    /// `AccessDenied`. A bucket that lets the asker do nothing at all is to him as if it were not there.
    pub(super) fn admit<D: Device>(
        &self,
        gateway: &Gateway<D>,
        wish: Wish,
        bucket: &str,
        object: Option<(&str, Option<VersionId>)>,
    ) -> S3Result<Account<D>> {
        let own = self.caller().map(|caller| gateway.account(caller.account.as_str()));
        let first = gateway.account(FIRST_ACCOUNT);
        for account in own.iter().chain([&first]) {
            let Ok(view) = account.container(bucket) else { continue };
            let may = match object {
                None => rights::may(self.asker(), account.name(), &view.settings, wish),
                Some((key, version)) => {
                    // A version has a list of its own.
                    let object = account.version(bucket, key, version).ok();
                    let details = object.as_ref().map(|object| &object.details);
                    rights::may_with(self.asker(), account.name(), &view.settings, details, wish)
                }
            };
            if may {
                return Ok(account.clone());
            }
            let is_own = own.as_ref().is_some_and(|own| own.name() == account.name());
            if is_own || rights::is_known_to(self.asker(), account.name(), &view.settings) {
                return Err(self.denied());
            }
        }
        self.own(gateway)
    }

    /// The asker's own account.
    ///
    /// # Errors
    /// `AccessDenied` if he does not own it.
    fn own<D: Device>(&self, gateway: &Gateway<D>) -> S3Result<Account<D>> {
        let own = self.caller().map(|caller| gateway.account(caller.account.as_str()));
        own.filter(|own| self.owns(own.name())).ok_or_else(|| self.denied())
    }

    fn denied(&self) -> S3Error {
        if self.is_nobody() {
            return S3Error::with_message(S3ErrorCode::AccessDenied, UNSIGNED);
        }
        s3_error!(AccessDenied)
    }
}

/// Who asks.
///
/// # Errors
/// `AccessDenied` if nobody has looked: then nobody has let the request in either.
pub(super) fn requester(extensions: &Extensions) -> S3Result<&Requester> {
    extensions.get().ok_or_else(|| s3_error!(AccessDenied))
}

/// The name of the account that a request was let into.
#[derive(Clone)]
struct Target(Arc<str>);

/// The account that a request was let into.
///
/// # Errors
/// `AccessDenied` if nobody has let it in.
pub(super) fn target<D: Device>(gateway: &Gateway<D>, extensions: &Extensions) -> S3Result<Account<D>> {
    let Target(name) = extensions.get().ok_or_else(|| s3_error!(AccessDenied))?;
    Ok(gateway.account(name))
}

/// What a verb needs. One that is not listed, or that s3s learns later, is the owner's.
fn wish(verb: &str) -> Wish {
    match verb {
        "HeadBucket"
        | "GetBucketLocation"
        | "ListObjects"
        | "ListObjectsV2"
        | "ListObjectVersions"
        | "ListMultipartUploads" => Wish::List,
        "GetObject" | "HeadObject" | "GetObjectAttributes" => Wish::Read,
        "PutObject"
        | "CopyObject"
        | "CreateMultipartUpload"
        | "UploadPart"
        | "UploadPartCopy"
        | "ListParts"
        | "CompleteMultipartUpload"
        | "AbortMultipartUpload"
        | "DeleteObject"
        | "DeleteObjects" => Wish::Write,
        "GetBucketAcl" | "GetObjectAcl" => Wish::ReadGrants,
        "PutBucketAcl" | "PutObjectAcl" => Wish::WriteGrants,
        _ => Wish::Own,
    }
}

/// What a request without a signature is told.
pub(super) const UNSIGNED: &str =
    "The request is not signed; sign it (version 4) with a pair of keys that this gateway knows.";

/// Lets requests in, and refuses those that ask for what would not be kept.
pub(super) struct Access<D> {
    pub(super) gateway: Gateway<D>,
    pub(super) users: Arc<Users>,
    /// Whether somebody else has checked the signature, taken it away, and left the [`Requester`].
    pub(super) verified: bool,
}

#[async_trait::async_trait]
impl<D: Device> S3Access for Access<D> {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let verb = context.s3_op().name().to_owned();
        if let Some(slot) = context.extensions_mut().get::<Verb>() {
            slot.name(&*verb);
        }
        let asker = if self.verified {
            requester(context.extensions_mut())?.clone()
        } else {
            Requester::new(&self.users, context.credentials(), context.headers())?
        };
        let account = match context.s3_path() {
            S3Path::Root => asker.own(&self.gateway)?,
            // Made in the asker's own account, whatever others have.
            S3Path::Bucket { .. } if verb == "CreateBucket" => asker.own(&self.gateway)?,
            S3Path::Bucket { bucket } => asker.admit(&self.gateway, wish(&verb), bucket, None)?,
            S3Path::Object { bucket, key } => {
                let version = versions::in_address(context.uri())?;
                asker.admit(&self.gateway, wish(&verb), bucket, Some((key, version)))?
            }
        };
        if asker.is_nobody() && is_in_chunks(context.headers()) {
            return Err(s3_error!(
                NotImplemented,
                "A body in chunks (aws-chunked) is read of signed requests only. Send it as it is."
            ));
        }
        refuse(context.headers(), account.name())?;
        context.extensions_mut().insert(asker);
        context.extensions_mut().insert(Target(account.name().into()));
        Ok(())
    }
}

fn refuse(headers: &HeaderMap, account: &str) -> S3Result<()> {
    for (name, value) in headers {
        let value = value.as_bytes();
        match name.as_str() {
            "x-amz-expected-bucket-owner" if value != owner_id(account).as_bytes() => {
                return Err(s3_error!(AccessDenied));
            }
            "x-amz-server-side-encryption" if value != b"AES256" => {
                return Err(not_kept("keys of a key service: everything is sealed with the vault's key"));
            }
            "x-amz-bucket-object-lock-enabled" if value == b"true" => {
                return Err(not_kept("object lock"));
            }
            "x-amz-website-redirect-location" => return Err(not_kept("redirects")),
            "x-amz-storage-class" if !values::is_storage_class(value) => {
                return Err(s3_error!(InvalidStorageClass, "The storage class you specified is not valid"));
            }
            name if name.starts_with("x-amz-checksum-") && !is_known_checksum(name) => {
                return Err(s3_error!(
                    InvalidRequest,
                    "The algorithm type you specified in x-amz-checksum- header is invalid."
                ));
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

/// Whether a body comes in chunks that s3s takes apart, which it does for who has signed.
pub(super) fn is_in_chunks(headers: &HeaderMap) -> bool {
    let streams = |value: &http::HeaderValue| value.as_bytes().starts_with(b"STREAMING-");
    let encoding =
        headers.get_all(http::header::CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    headers.get("x-amz-content-sha256").is_some_and(streams)
        || headers.contains_key("x-amz-decoded-content-length")
        || encoding
            .flat_map(|value| value.split(','))
            .any(|value| value.trim().eq_ignore_ascii_case("aws-chunked"))
}

fn is_known_checksum(name: &str) -> bool {
    let others = ["x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type"];
    checksums::HEADERS.iter().any(|(known, _)| *known == name) || others.contains(&name)
}

fn not_kept(what: &str) -> S3Error {
    S3Error::with_message(
        S3ErrorCode::NotImplemented,
        format!("This gateway has no {what}. Leave the header out."),
    )
}

/// Refuses headers with signatures of version 2, which s3s would take: none of today's clients makes them.
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
