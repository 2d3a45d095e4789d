//! The rights of principals, with one answer for every protocol.
//!
//! An owner may do everything in the account. Any other principal may do what a list allows, by every protocol. The
//! lists are the access lists of a container, as Swift writes them, and S3's grants of a container and of an object.
//! Grants count only where the container enables them.

mod lists;

pub(crate) use lists::{Acl, AclUse};

use crate::auth::principal::Principal;
use crate::catalogue::{ContainerSettings, Details, Grant, Grantee, Ownership, Permission};

/// The action of a request, as far as rights distinguish actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// See that a container exists, and list its contents.
    List,
    /// Read an object and its details.
    Read,
    /// Put, change and delete the objects of a container.
    Write,
    /// Read the grants.
    ReadGrants,
    /// Change the grants.
    WriteGrants,
    /// Anything else.
    Own,
}

/// Returns whether a principal may do this to a container of an account, or to every object in it.
pub(crate) fn may(
    principal: &Principal,
    account: &str,
    settings: &ContainerSettings,
    action: Action,
) -> bool {
    let permission = match action {
        Action::List => Some(Permission::Read),
        Action::Write => Some(Permission::Write),
        Action::ReadGrants => Some(Permission::ReadGrants),
        Action::WriteGrants => Some(Permission::WriteGrants),
        // In S3, a right to see the names is not a right to read the objects.
        Action::Read | Action::Own => None,
    };
    principal.owns(account)
        || is_listed(principal, settings, action)
        || permission.is_some_and(|required| grants(settings, &settings.grants, principal, required))
}

/// Returns whether a principal may do this to an object in a container of an account; `None` stands for a missing
/// object.
pub(crate) fn may_with(
    principal: &Principal,
    account: &str,
    settings: &ContainerSettings,
    object: Option<&Details>,
    action: Action,
) -> bool {
    let permission = match action {
        Action::List | Action::Write | Action::Own => return may(principal, account, settings, action),
        Action::Read if may(principal, account, settings, action) => return true,
        Action::Read => Permission::Read,
        Action::ReadGrants => Permission::ReadGrants,
        Action::WriteGrants => Permission::WriteGrants,
    };
    principal.owns(account)
        || match object {
            Some(object) => grants(settings, &object.grants, principal, permission),
            // Only principals that may list learn that an object is missing.
            None => may(principal, account, settings, Action::List),
        }
}

/// Returns whether a container gives a principal any right: only then its name is not secret.
pub(crate) fn is_known_to(principal: &Principal, account: &str, settings: &ContainerSettings) -> bool {
    [Action::List, Action::Read, Action::Write, Action::ReadGrants, Action::WriteGrants]
        .into_iter()
        .any(|action| may(principal, account, settings, action))
}

/// Returns whether a Swift access list of the container includes a principal.
fn is_listed(principal: &Principal, settings: &ContainerSettings, action: Action) -> bool {
    let (text, purpose) = match action {
        Action::List | Action::Read => (&settings.read_acl, AclUse::Reading),
        Action::Write => (&settings.write_acl, AclUse::Writing),
        Action::ReadGrants | Action::WriteGrants | Action::Own => return false,
    };
    // An invalid list grants nothing.
    let list = Acl::parse(text, purpose).unwrap_or_default();
    let by_page = || match action {
        Action::Read => list.admits_referrer(principal.referrer()),
        Action::List => list.admits_referrer(principal.referrer()) && list.admits_listings(),
        _ => false,
    };
    principal.identity().is_some_and(|identity| list.admits(identity)) || by_page()
}

fn grants(settings: &ContainerSettings, list: &[Grant], principal: &Principal, required: Permission) -> bool {
    settings.ownership == Some(Ownership::Preferred)
        && list.iter().any(|grant| {
            let is_permitted = grant.permission == required || grant.permission == Permission::FullControl;
            is_permitted
                && match &grant.grantee {
                    Grantee::Everybody => true,
                    Grantee::Authenticated => !principal.is_anonymous(),
                    Grantee::Account(name) => {
                        principal.identity().is_some_and(|identity| identity.account.as_str() == *name)
                    }
                }
        })
}
