//! The place where a verb is at work, and the principal that it works for.

use super::rights::Claim;
use super::target::Target;
use crate::objects::account::Account;

/// See the module.
pub(super) struct VerbContext<'a> {
    pub(super) account: &'a Account,
    pub(super) target: &'a Target,
    pub(super) claim: &'a Claim,
}

impl VerbContext<'_> {
    /// The container's name; the verbs of containers and objects have one.
    pub(super) fn container(&self) -> &str {
        self.target.container.as_deref().unwrap_or_default()
    }

    /// The object's name; the verbs of objects have one.
    pub(super) fn object(&self) -> &str {
        self.target.object.as_deref().unwrap_or_default()
    }

    /// Tells whether everything of the account may be shown.
    pub(super) fn is_owner(&self) -> bool {
        self.claim.owns(&self.target.account)
    }
}
