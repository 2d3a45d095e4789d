//! Rights: an owner may do everything, others what access lists and temporary URLs grant.

use super::Swift;
use super::asked::Asked;
use super::refusal::{Outcome, Refusal};
use super::target::Target;
use super::temp_url::{self, Grant};
use crate::auth::identity::{AccountName, Caller, Role};
use crate::auth::rights::{self, Asker, Wish};
use crate::catalogue::ContainerView;
use crate::device::Device;
use std::collections::BTreeMap;

/// The principal that asks, as far as the request proves it.
#[derive(Clone, Debug, Default)]
pub(super) struct Visitor {
    pub(super) caller: Option<Caller>,
    link: Option<Link>,
}

/// A temporary URL that was found good.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) grant: Grant,
    account: String,
    container: String,
}

/// The right that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// Read an object.
    Read,
    /// List a container, or see how much it holds.
    List,
    /// Put, change or delete an object.
    Write,
    /// Make, change or delete a container; see or change the account.
    Own,
}

impl Visitor {
    /// Whether all of this account is the visitor's.
    pub(super) fn owns(&self, account: &str) -> bool {
        let Some(caller) = &self.caller else { return false };
        account.parse::<AccountName>().is_ok_and(|account| caller.owns(&account))
    }

    fn asker<'a>(&'a self, asked: &'a Asked) -> Asker<'a> {
        Asker { caller: self.caller.as_ref(), referrer: asked.header("referer") }
    }

    pub(super) fn is_admin(&self) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.role == Role::Admin)
    }

    pub(super) fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// The refusal of a visitor without the right. It is the same whether the resource exists or not.
    pub(super) fn turned_away(&self) -> Refusal {
        match (&self.caller, &self.link) {
            (Some(_), _) => Refusal::forbidden("Access was denied to this resource."),
            (None, Some(_)) => Refusal::unauthorized("Temp URL invalid"),
            (None, None) => Refusal::unauthorized("This server could not verify that you are authorized."),
        }
    }
}

impl<D: Device> Swift<D> {
    /// The visitor of a request.
    ///
    /// # Errors
    /// 401 if the request comes with a token or a temporary URL that is not good.
    pub(super) fn visitor(&self, asked: &Asked, target: &Target) -> Outcome<Visitor> {
        if temp_url::is_one(&asked.query) {
            let link = self.link(asked, target).ok_or_else(|| Refusal::unauthorized("Temp URL invalid"))?;
            return Ok(Visitor { caller: None, link: Some(link) });
        }
        let Some(token) = asked.token() else { return Ok(Visitor::default()) };
        let known = self.tokens.look_up(&self.users, token, asked.now);
        let known = known.ok_or_else(|| Refusal::unauthorized("The token is not good, or not any more."))?;
        Ok(Visitor { caller: Some(known.caller), link: None })
    }

    fn link(&self, asked: &Asked, target: &Target) -> Option<Link> {
        let account = self.account_of(target)?;
        let holder = target.container.as_deref()?;
        let container = account.container(holder).ok();
        let visit = temp_url::Visit {
            method: &asked.method,
            query: &asked.query,
            target,
            peer: asked.peer,
            now: asked.now,
        };
        let of_container = container.as_ref().map(|view| &view.settings.metadata);
        let grant = temp_url::check(&visit, &account.view().settings.metadata, of_container)?;
        Some(Link { grant, account: target.account.clone(), container: holder.to_owned() })
    }

    /// # Errors
    /// 401 if the asker is not known, 403 if he is known and may not.
    pub(super) fn check(
        &self,
        asked: &Asked,
        visitor: &Visitor,
        account: &str,
        container: Option<&str>,
        right: Right,
    ) -> Outcome<()> {
        if self.may(asked, visitor, account, container, right) { Ok(()) } else { Err(visitor.turned_away()) }
    }

    fn may(
        &self,
        asked: &Asked,
        visitor: &Visitor,
        account: &str,
        container: Option<&str>,
        right: Right,
    ) -> bool {
        if visitor.owns(account) {
            return true;
        }
        let (Some(container), false) = (container, right == Right::Own) else { return false };
        if let Some(link) = &visitor.link {
            // The method was signed; reading may go on to the pieces of a large object.
            let reaches =
                link.account == account && (!link.grant.of_container || link.container == container);
            return reaches && right != Right::List;
        }
        let Ok(view) = self.gateway.account(account).container(container) else { return false };
        self.is_granted(asked, visitor, account, &view, right)
    }

    fn is_granted(
        &self,
        asked: &Asked,
        visitor: &Visitor,
        account: &str,
        view: &ContainerView,
        right: Right,
    ) -> bool {
        let wish = match right {
            Right::Own => return false,
            Right::Write => Wish::Write,
            Right::Read => Wish::Read,
            Right::List => Wish::List,
        };
        rights::may(visitor.asker(asked), account, &view.settings, wish)
    }

    /// Checks that the visitor may read an object, which may let in more than its container does.
    ///
    /// # Errors
    /// 401 if the asker is not known, 403 if he is known and may not.
    pub(super) fn check_read(
        &self,
        asked: &Asked,
        visitor: &Visitor,
        account: &str,
        container: &str,
        key: &str,
    ) -> Outcome<()> {
        let Err(refused) = self.check(asked, visitor, account, Some(container), Right::Read) else {
            return Ok(());
        };
        let holder = self.gateway.account(account);
        let (Ok(view), Ok(object), None) =
            (holder.container(container), holder.object(container, key), &visitor.link)
        else {
            return Err(refused);
        };
        let asker = visitor.asker(asked);
        if rights::may_with(asker, account, &view.settings, Some(&object.details), Wish::Read) {
            return Ok(());
        }
        Err(refused)
    }
}

/// Whether metadata of this name is for the owner's eyes only.
pub(super) fn is_private(name: &str) -> bool {
    temp_url::KEYS.contains(&name)
}

/// The quotas among an account's metadata: only who runs the gateway may change them.
pub(super) const ACCOUNT_QUOTAS: [&str; 2] = ["quota-bytes", "quota-count"];

/// # Errors
/// 403 if the changes touch a quota and the visitor is no admin.
pub(super) fn check_quotas(visitor: &Visitor, changes: &BTreeMap<String, Option<String>>) -> Outcome<()> {
    if ACCOUNT_QUOTAS.iter().any(|quota| changes.contains_key(*quota)) && !visitor.is_admin() {
        return Err(Refusal::forbidden("Only an admin may change the account's quota."));
    }
    Ok(())
}
