//! The context of a verb: its request, its account, its target, its principal, and its name for the log.

use super::request_head::RequestHead;
use super::rights::Claim;
use super::target::Target;
use crate::http::protocol::Verb;
use crate::objects::account::Account;

/// See the module.
pub(super) struct VerbContext<'a> {
    pub(super) head: &'a RequestHead,
    pub(super) account: &'a Account,
    pub(super) target: &'a Target,
    pub(super) claim: &'a Claim,
    pub(super) verb: &'a Verb,
}

impl VerbContext<'_> {
    /// Returns the container's name; verbs of containers and objects have one.
    pub(super) fn container(&self) -> &str {
        self.target.container.as_deref().unwrap_or_default()
    }

    /// Returns the object's name; verbs of objects have one.
    pub(super) fn object(&self) -> &str {
        self.target.object.as_deref().unwrap_or_default()
    }

    /// Returns whether the principal owns the account.
    pub(super) fn is_owner(&self) -> bool {
        self.claim.owns(&self.target.account)
    }
}
