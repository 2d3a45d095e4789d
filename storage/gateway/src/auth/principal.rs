//! The principal of a request: the user that asks, or anybody, and the page that led it here.

use super::identity::{Identity, Role};
use http::HeaderMap;
use http::header::REFERER;

/// The principal that asks, by any door.
#[derive(Clone, Debug, Default)]
pub(crate) struct Principal {
    identity: Option<Identity>,
    referrer: Option<String>,
}

impl Principal {
    /// The principal of a request with these headers: the user that it was proved to come from, or anybody.
    pub(crate) fn new(identity: Option<Identity>, headers: &HeaderMap) -> Self {
        let referrer = headers.get(REFERER).and_then(|page| page.to_str().ok()).map(str::to_owned);
        Principal { identity, referrer }
    }

    /// The user; `None` if the request proves none.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// The page that led here, as the client says.
    pub(crate) fn referrer(&self) -> Option<&str> {
        self.referrer.as_deref()
    }

    /// Tells whether the request proves no user.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.identity.is_none()
    }

    /// Tells whether everything in an account is the principal's.
    pub(crate) fn owns(&self, account: &str) -> bool {
        self.identity().is_some_and(|identity| identity.owns(account))
    }

    /// Tells whether the principal runs the gateway.
    pub(crate) fn is_admin(&self) -> bool {
        self.identity().is_some_and(|identity| identity.role == Role::Admin)
    }
}
