//! The principal of a request: a user, or an anonymous client, and the page that led to the request.

use super::identity::{Identity, Role};
use http::HeaderMap;
use http::header::REFERER;

/// The principal of a request, by any protocol.
#[derive(Clone, Debug, Default)]
pub(crate) struct Principal {
    identity: Option<Identity>,
    referrer: Option<String>,
}

impl Principal {
    /// Creates the principal of a request with these headers: the user that the request proves, or an anonymous client.
    pub(crate) fn new(identity: Option<Identity>, headers: &HeaderMap) -> Self {
        let referrer = headers.get(REFERER).and_then(|page| page.to_str().ok()).map(str::to_owned);
        Principal { identity, referrer }
    }

    /// Returns the user; `None` for an anonymous client.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Returns the page that led here, as the client states it.
    pub(crate) fn referrer(&self) -> Option<&str> {
        self.referrer.as_deref()
    }

    /// Returns whether the client is anonymous.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.identity.is_none()
    }

    /// Returns whether the principal owns an account.
    pub(crate) fn owns(&self, account: &str) -> bool {
        self.identity().is_some_and(|identity| identity.owns(account))
    }

    /// Returns whether the principal operates the gateway.
    pub(crate) fn is_admin(&self) -> bool {
        self.identity().is_some_and(|identity| identity.role == Role::Admin)
    }
}
