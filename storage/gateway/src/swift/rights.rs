//! Rights: an owner may do everything, others what access lists and temporary URLs grant.

use super::Swift;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::target::Target;
use super::temp_url::{self, TempUrlGrant};
use crate::auth::identity::AccountName;
use crate::auth::principal::Principal;
use crate::auth::rights::{self, Action};
use std::collections::BTreeMap;

/// The claim of a request: its principal, and its temporary URL.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    principal: Principal,
    temp_url: Option<TempUrl>,
}

/// A valid temporary URL.
#[derive(Clone, Debug)]
pub(super) struct TempUrl {
    pub(super) grant: TempUrlGrant,
    account: String,
    container: String,
}

impl Claim {
    /// Returns whether the principal owns this account.
    pub(super) fn owns(&self, account: &str) -> bool {
        account.parse::<AccountName>().is_ok() && self.principal.owns(account)
    }

    pub(super) fn is_admin(&self) -> bool {
        self.principal.is_admin()
    }

    pub(super) fn temp_url(&self) -> Option<&TempUrl> {
        self.temp_url.as_ref()
    }

    /// Returns the refusal for a request without the right. It is the same whether the resource exists or not.
    pub(super) fn refusal(&self) -> Refusal {
        if !self.principal.is_anonymous() {
            return Refusal::forbidden("Access was denied to this resource.");
        }
        match self.temp_url {
            Some(_) => Refusal::unauthorized("Temp URL invalid"),
            None => Refusal::unauthorized("This server could not verify that you are authorized."),
        }
    }
}

impl Swift {
    /// Returns the claim of a request.
    ///
    /// # Errors
    /// 401 if the request has an invalid token or temporary URL.
    pub(super) fn claim(&self, head: &RequestHead, target: &Target) -> Outcome<Claim> {
        let claim =
            |identity, temp_url| Claim { principal: Principal::new(identity, &head.headers), temp_url };
        if temp_url::is_temp_url(&head.query) {
            let temp_url =
                self.temp_url(head, target).ok_or_else(|| Refusal::unauthorized("Temp URL invalid"))?;
            return Ok(claim(None, Some(temp_url)));
        }
        let Some(token) = head.token() else { return Ok(claim(None, None)) };
        let known = self.tokens.look_up(&self.users, token, head.now);
        let known = known.ok_or_else(|| Refusal::unauthorized("The token is invalid or has expired."))?;
        Ok(claim(Some(known.identity), None))
    }

    fn temp_url(&self, head: &RequestHead, target: &Target) -> Option<TempUrl> {
        let account = self.account_of(target)?;
        let container_name = target.container.as_deref()?;
        let container = account.container(container_name).ok();
        let use_of_url = temp_url::TempUrlRequest {
            method: &head.method,
            query: &head.query,
            target,
            peer: head.peer,
            now: head.now,
        };
        let of_container = container.as_ref().map(|view| &view.settings.metadata);
        let grant = temp_url::check(&use_of_url, &account.view().settings.metadata, of_container)?;
        Some(TempUrl { grant, account: target.account.clone(), container: container_name.to_owned() })
    }

    /// Checks a right of a request.
    ///
    /// # Errors
    /// 401 for an anonymous client, 403 for a user without the right.
    pub(super) fn check(
        &self,
        claim: &Claim,
        account: &str,
        container: Option<&str>,
        action: Action,
    ) -> Outcome<()> {
        if self.may(claim, account, container, action) { Ok(()) } else { Err(claim.refusal()) }
    }

    fn may(&self, claim: &Claim, account: &str, container: Option<&str>, action: Action) -> bool {
        if claim.owns(account) {
            return true;
        }
        let (Some(container), false) = (container, action == Action::Own) else { return false };
        if let Some(url) = &claim.temp_url {
            // The method was signed; a read may continue to the segments of a large object.
            let reaches = url.account == account && (!url.grant.of_container || url.container == container);
            return reaches && matches!(action, Action::Read | Action::Write);
        }
        let Ok(view) = self.gateway.account(account).container(container) else { return false };
        rights::may(&claim.principal, account, &view.settings, action)
    }

    /// Checks that the principal may read an object, which may give more rights than its container.
    ///
    /// # Errors
    /// 401 for an anonymous client, 403 for a user without the right.
    pub(super) fn check_read(&self, claim: &Claim, account: &str, container: &str, key: &str) -> Outcome<()> {
        let Err(refused) = self.check(claim, account, Some(container), Action::Read) else {
            return Ok(());
        };
        let owner = self.gateway.account(account);
        let (Ok(view), Ok(object), None) =
            (owner.container(container), owner.object(container, key), &claim.temp_url)
        else {
            return Err(refused);
        };
        let details = Some(&object.details);
        if rights::may_with(&claim.principal, account, &view.settings, details, Action::Read) {
            return Ok(());
        }
        Err(refused)
    }
}

/// Returns whether only the owner may see metadata of this name.
pub(super) fn is_private(name: &str) -> bool {
    temp_url::KEYS.contains(&name)
}

/// The quotas in an account's metadata: only an admin may change them.
pub(super) const ACCOUNT_QUOTAS: [&str; 2] = ["quota-bytes", "quota-count"];

/// Checks the right to change quotas.
///
/// # Errors
/// 403 if the changes include a quota and the principal is not an admin.
pub(super) fn check_quotas(claim: &Claim, changes: &BTreeMap<String, Option<String>>) -> Outcome<()> {
    if ACCOUNT_QUOTAS.iter().any(|quota| changes.contains_key(*quota)) && !claim.is_admin() {
        return Err(Refusal::forbidden("Only an admin may change the account's quota."));
    }
    Ok(())
}
