//! OpenStack Swift for the gateway: accounts, containers and objects, and the logins that lead to them.
//!
//! Everything that clients, keystoneauth and Tempest ask for is answered here, identity included. The cost of each verb
//! in accesses is in `docs/reference/swift.md`, and counted by a test.

mod account;
mod answer;
mod auth;
mod bulk;
mod byteranges;
mod conditions;
mod container;
mod content;
mod copy;
mod cors;
mod dates;
mod describe;
mod door;
mod form_post;
#[cfg(test)]
mod fuzz;
mod info;
mod large;
mod listing;
mod manifest;
mod metadata;
mod object;
mod put;
mod query;
mod range;
mod read;
mod refusal;
mod request_head;
mod rights;
mod route;
mod signature;
mod target;
mod temp_url;
mod whole;

pub use door::{Address, SwiftDoor};

use crate::auth::identity::{AccountName, Tokens, Users};
use crate::device::Device;
use crate::objects::account::Account;
use crate::objects::gateway::Gateway;
use std::sync::Arc;
use target::Target;

/// The state that all verbs work with.
struct Swift<D> {
    gateway: Gateway<D>,
    users: Arc<Users>,
    tokens: Tokens,
    /// The address at which clients reach this server.
    address: Address,
}

impl<D: Device> Swift<D> {
    /// The account that a target names; `None` if that is no account's name.
    fn account_of(&self, target: &Target) -> Option<Account<D>> {
        let name: AccountName = target.account.parse().ok()?;
        Some(self.gateway.account(name.as_str()))
    }
}

/// The place where a verb is at work, and the principal that it works for.
struct At<'a, D> {
    account: &'a Account<D>,
    target: &'a Target,
    claim: &'a rights::Claim,
}

impl<D> At<'_, D> {
    /// The container's name; the verbs of containers and objects have one.
    fn container(&self) -> &str {
        self.target.container.as_deref().unwrap_or_default()
    }

    /// The object's name; the verbs of objects have one.
    fn object(&self) -> &str {
        self.target.object.as_deref().unwrap_or_default()
    }

    /// Tells whether everything of the account may be shown.
    fn is_owner(&self) -> bool {
        self.claim.owns(&self.target.account)
    }
}
