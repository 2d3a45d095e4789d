//! The state of all verbs.

use super::address::Address;
use super::request_head;
use super::target::Target;
use crate::auth::identity::{AccountName, Tokens, Users};
use crate::catalogue::UnixMillis;
use crate::objects::account::Account;
use crate::objects::gateway::Gateway;
use http::HeaderMap;
use std::sync::Arc;

/// See the module.
pub(super) struct Swift {
    pub(super) gateway: Gateway,
    pub(super) users: Arc<Users>,
    pub(super) tokens: Tokens,
    /// The address at which clients reach this server.
    pub(super) address: Address,
}

impl Swift {
    /// Returns the account of the user whose token is in these headers; `None` without a valid one.
    pub(super) fn account_with_token(&self, headers: &HeaderMap, now: UnixMillis) -> Option<AccountName> {
        let token = request_head::token(headers)?;
        Some(self.tokens.look_up(&self.users, token, now)?.identity.account)
    }

    /// Returns the account of a target; `None` if its name is invalid.
    pub(super) fn account_of(&self, target: &Target) -> Option<Account> {
        let name: AccountName = target.account.parse().ok()?;
        Some(self.gateway.account(name.as_str()))
    }
}
