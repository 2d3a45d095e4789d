//! The requester, and the account of the bucket that he means.

use super::values;
use crate::auth::identity::{Caller, Role, Users};
use crate::auth::rights::{self, Asker, Wish};
use crate::catalogue::VersionId;
use crate::device::Device;
use crate::objects::account::{Account, FIRST_ACCOUNT};
use crate::objects::gateway::Gateway;
use http::header::REFERER;
use http::{Extensions, HeaderMap};
use s3s::auth::Credentials;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The answer to a request without a signature.
pub(super) const UNSIGNED: &str =
    "The request is not signed; sign it (version 4) with a pair of keys that this gateway knows.";

/// The principal that asks. Verbs find it in the extensions of a request.
#[derive(Clone)]
pub(super) struct Requester {
    caller: Option<Caller>,
    referrer: Option<String>,
    users: Arc<Users>,
}

impl Requester {
    /// The signer with these credentials, whose signature was found right; nobody in particular without them.
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

    pub(super) fn asker(&self) -> Asker<'_> {
        Asker { caller: self.caller.as_ref(), referrer: self.referrer.as_deref() }
    }

    pub(super) fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref()
    }

    /// The principal that begins something in an account, unless it is the account itself: another account, a member by
    /// account and user, or nobody in particular.
    pub(super) fn initiator(&self, account: &str) -> Option<String> {
        let Some(caller) = self.caller() else { return Some(values::ANONYMOUS.into()) };
        let name = match caller.role {
            Role::Member => format!("{}/{}", caller.account.as_str(), caller.user.as_str()),
            Role::Owner | Role::Admin => caller.account.as_str().to_owned(),
        };
        (name != account).then_some(name)
    }

    /// Whether the request is not signed.
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
    pub(super) fn own<D: Device>(&self, gateway: &Gateway<D>) -> S3Result<Account<D>> {
        let own = self.caller().map(|caller| gateway.account(caller.account.as_str()));
        own.filter(|own| self.owns(own.name())).ok_or_else(|| self.denied())
    }

    pub(super) fn denied(&self) -> S3Error {
        if self.is_nobody() {
            return S3Error::with_message(S3ErrorCode::AccessDenied, UNSIGNED);
        }
        s3_error!(AccessDenied)
    }
}

/// The requester of a request.
///
/// # Errors
/// `AccessDenied` if the request was not looked at: then it was not let in either.
pub(super) fn requester(extensions: &Extensions) -> S3Result<&Requester> {
    extensions.get().ok_or_else(|| s3_error!(AccessDenied))
}
