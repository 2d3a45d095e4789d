//! The principal of an S3 request, and the account of the bucket that it names.

use super::conversions;
use crate::auth::identity::Role;
use crate::auth::principal::Principal;
use crate::auth::rights::{self, Action};
use crate::catalogue::VersionId;
use crate::objects::account::{Account, FIRST_ACCOUNT};
use crate::objects::gateway::Gateway;
use http::Extensions;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

/// The answer to a request without a signature.
pub(super) const UNSIGNED: &str =
    "The request is not signed; sign it (version 4) with a pair of keys that this gateway knows.";

/// Returns the principal of a request from its extensions.
///
/// # Errors
/// `AccessDenied` if the request was not checked.
pub(super) fn principal(extensions: &Extensions) -> S3Result<&Principal> {
    extensions.get().ok_or_else(|| s3_error!(AccessDenied))
}

/// The S3 side of principals: the accounts that they name, and their refusals.
impl Principal {
    /// Returns the principal that begins an upload, unless it is the account itself: another account, a member by
    /// account and user, or an anonymous client.
    pub(super) fn initiator(&self, account: &str) -> Option<String> {
        let Some(identity) = self.identity() else { return Some(conversions::ANONYMOUS.into()) };
        let name = match identity.role {
            Role::Member => format!("{}/{}", identity.account.as_str(), identity.user.as_str()),
            Role::Owner | Role::Admin => identity.account.as_str().to_owned(),
        };
        (name != account).then_some(name)
    }

    /// Returns the account of the bucket: the principal's own, or the first one, where others may have rights.
    ///
    /// # Errors
    /// `AccessDenied`. A bucket in which the principal has no right at all looks as if it did not exist.
    pub(super) fn admit(
        &self,
        gateway: &Gateway,
        action: Action,
        bucket: &str,
        object: Option<(&str, Option<VersionId>)>,
    ) -> S3Result<Account> {
        let own = self.identity().map(|identity| gateway.account(identity.account.as_str()));
        let first = gateway.account(FIRST_ACCOUNT);
        for account in own.iter().chain([&first]) {
            let Ok(view) = account.container(bucket) else { continue };
            let may = match object {
                None => rights::may(self, account.name(), &view.settings, action),
                Some((key, version)) => {
                    // A version has grants of its own.
                    let object = account.version(bucket, key, version).ok();
                    let details = object.as_ref().map(|object| &object.details);
                    rights::may_with(self, account.name(), &view.settings, details, action)
                }
            };
            if may {
                return Ok(account.clone());
            }
            let is_own = own.as_ref().is_some_and(|own| own.name() == account.name());
            if is_own || rights::is_known_to(self, account.name(), &view.settings) {
                return Err(self.denied());
            }
        }
        self.own(gateway)
    }

    /// Returns the principal's own account.
    ///
    /// # Errors
    /// `AccessDenied` if the principal does not own it.
    pub(super) fn own(&self, gateway: &Gateway) -> S3Result<Account> {
        let own = self.identity().map(|identity| gateway.account(identity.account.as_str()));
        own.filter(|own| self.owns(own.name())).ok_or_else(|| self.denied())
    }

    pub(super) fn denied(&self) -> S3Error {
        if self.is_anonymous() {
            return S3Error::with_message(S3ErrorCode::AccessDenied, UNSIGNED);
        }
        s3_error!(AccessDenied)
    }
}
