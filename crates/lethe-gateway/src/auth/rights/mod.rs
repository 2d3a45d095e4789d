//! The rights of callers: one answer for every face.
//!
//! An owner may do everything in the account. Any other caller may do what a list lets him, by every door: the access
//! lists of a container as Swift writes them, and the grants of a container and of an object in it as S3 has them,
//! these only where the container lets grants count.

mod lists;

pub(crate) use lists::{Acl, For};

use crate::auth::identity::{Caller, Role};
use crate::catalogue::{ContainerSettings, Details, Grant, Grantee, Ownership, Permission};

/// The wish of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// See that a container is there, and list its contents.
    List,
    /// Read an object and what is said about it.
    Read,
    /// Put objects into a container and delete them.
    Write,
    /// See the principals that the owner lets in.
    ReadGrants,
    /// Change the principals that the owner lets in.
    WriteGrants,
    /// Anything else.
    Own,
}

/// The principal that asks, and the page that led it here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asker<'a> {
    /// The caller; `None` if the asker is not known.
    pub(crate) caller: Option<&'a Caller>,
    /// The page that led here, as the client says.
    pub(crate) referrer: Option<&'a str>,
}

/// Whether an account is all the caller's.
pub(crate) fn owns(caller: Option<&Caller>, account: &str) -> bool {
    caller.is_some_and(|caller| match caller.role {
        Role::Member => false,
        Role::Owner => caller.account.as_str() == account,
        Role::Admin => true,
    })
}

/// Whether somebody may do this to a container of an account, or to every object in it.
pub(crate) fn may(asker: Asker<'_>, account: &str, settings: &ContainerSettings, wish: Wish) -> bool {
    let permission = match wish {
        Wish::List => Some(Permission::Read),
        Wish::Write => Some(Permission::Write),
        Wish::ReadGrants => Some(Permission::ReadGrants),
        Wish::WriteGrants => Some(Permission::WriteGrants),
        // By S3's lists, a right to see the names is not yet a right to see what they stand for.
        Wish::Read | Wish::Own => None,
    };
    owns(asker.caller, account)
        || is_listed(asker, settings, wish)
        || permission.is_some_and(|wanted| grants(settings, &settings.grants, asker.caller, wanted))
}

/// Whether somebody may do this to an object in a container of an account; `None` if there is no such object.
pub(crate) fn may_with(
    asker: Asker<'_>,
    account: &str,
    settings: &ContainerSettings,
    object: Option<&Details>,
    wish: Wish,
) -> bool {
    let permission = match wish {
        Wish::List | Wish::Write | Wish::Own => return may(asker, account, settings, wish),
        Wish::Read if may(asker, account, settings, wish) => return true,
        Wish::Read => Permission::Read,
        Wish::ReadGrants => Permission::ReadGrants,
        Wish::WriteGrants => Permission::WriteGrants,
    };
    owns(asker.caller, account)
        || match object {
            Some(object) => grants(settings, &object.grants, asker.caller, permission),
            // A missing object is known as missing to the callers that may list.
            None => may(asker, account, settings, Wish::List),
        }
}

/// Whether a container lets somebody do anything at all: only then its name is no secret.
pub(crate) fn is_known_to(asker: Asker<'_>, account: &str, settings: &ContainerSettings) -> bool {
    [Wish::List, Wish::Read, Wish::Write, Wish::ReadGrants, Wish::WriteGrants]
        .into_iter()
        .any(|wish| may(asker, account, settings, wish))
}

/// Whether a list of the container, as Swift writes it, lets somebody in.
fn is_listed(asker: Asker<'_>, settings: &ContainerSettings, wish: Wish) -> bool {
    let (text, purpose) = match wish {
        Wish::List | Wish::Read => (&settings.read_acl, For::Reading),
        Wish::Write => (&settings.write_acl, For::Writing),
        Wish::ReadGrants | Wish::WriteGrants | Wish::Own => return false,
    };
    // A list that cannot be read grants nothing.
    let list = Acl::parse(text, purpose).unwrap_or_default();
    let by_page = || match wish {
        Wish::Read => list.admits_referrer(asker.referrer),
        Wish::List => list.admits_referrer(asker.referrer) && list.admits_listings(),
        _ => false,
    };
    asker.caller.is_some_and(|caller| list.admits(caller)) || by_page()
}

fn grants(settings: &ContainerSettings, list: &[Grant], caller: Option<&Caller>, wanted: Permission) -> bool {
    settings.ownership == Some(Ownership::Preferred)
        && list.iter().any(|grant| {
            let fits = grant.permission == wanted || grant.permission == Permission::FullControl;
            fits && match &grant.grantee {
                Grantee::Everybody => true,
                Grantee::Authenticated => caller.is_some(),
                Grantee::Account(name) => caller.is_some_and(|caller| caller.account.as_str() == *name),
            }
        })
}
