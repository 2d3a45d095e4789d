//! The state that all verbs work with.

use super::address::Address;
use super::target::Target;
use crate::auth::identity::{AccountName, Tokens, Users};
use crate::device::Device;
use crate::objects::account::Account;
use crate::objects::gateway::Gateway;
use std::sync::Arc;

/// See the module.
pub(super) struct Swift<D> {
    pub(super) gateway: Gateway<D>,
    pub(super) users: Arc<Users>,
    pub(super) tokens: Tokens,
    /// The address at which clients reach this server.
    pub(super) address: Address,
}

impl<D: Device> Swift<D> {
    /// The account that a target names; `None` if that is no account's name.
    pub(super) fn account_of(&self, target: &Target) -> Option<Account<D>> {
        let name: AccountName = target.account.parse().ok()?;
        Some(self.gateway.account(name.as_str()))
    }
}
