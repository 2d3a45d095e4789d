//! A user: its identity, and all that proves to be it.

use super::{AccountName, PasswordHash, UserName};
use base16ct::lower::encode_string as hex;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The rights of a user where no list grants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing but what the access list of a container grants.
    Member,
    /// Everything in the user's own account, but for setting its quota.
    Owner,
    /// Everything in every account, quotas included: the role of the operator of the gateway.
    Admin,
}

impl Role {
    /// As it is written in files and commands.
    pub fn name(self) -> &'static str {
        match self {
            Role::Member => "member",
            Role::Owner => "owner",
            Role::Admin => "admin",
        }
    }
}

/// The identity of a user: whose it is, its name and its role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The account that the user belongs to.
    pub account: AccountName,
    /// The user.
    pub user: UserName,
    /// The role, which says what the user may do.
    pub role: Role,
}

impl Identity {
    /// A name for the user that is unique in the gateway, in the form that Keystone gives its own: 32 hexadecimal
    /// digits. It follows from account and user, and is no secret.
    pub fn id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.account.as_str());
        hash.update([0]);
        hash.update(self.user.as_str());
        hex(&hash.finalize()[..16])
    }

    /// Tells whether everything in this account is the user's.
    pub fn owns(&self, account: &str) -> bool {
        match self.role {
            Role::Member => false,
            Role::Owner => self.account.as_str() == account,
            Role::Admin => true,
        }
    }
}

/// A pair of keys that signs S3 requests.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// Public: stands in every request.
    pub id: String,
    /// Signs.
    pub secret: Zeroizing<String>,
}

impl AccessKey {
    /// A pair of keys.
    pub fn new(id: impl Into<String>, secret: impl Into<String>) -> Self {
        AccessKey { id: id.into(), secret: Zeroizing::new(secret.into()) }
    }
}

impl std::fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccessKey(..)")
    }
}

/// A user and all that proves to be this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Account, name and role.
    pub identity: Identity,
    /// The hash of the password, if the user may log in with one.
    pub password: Option<PasswordHash>,
    /// The keys that sign S3 requests in the account's name; empty if the user may not use S3.
    pub keys: Vec<AccessKey>,
}

impl User {
    /// The owner of the first account, with this pair of S3 keys and no password.
    pub fn first(key: AccessKey) -> Self {
        let identity = Identity { account: AccountName::first(), user: UserName::first(), role: Role::Owner };
        User { identity, password: None, keys: vec![key] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_owns_one_account_an_admin_all_and_a_member_none() {
        for (role, expected) in
            [(Role::Member, [false, false]), (Role::Owner, [true, false]), (Role::Admin, [true, true])]
        {
            let identity = Identity { account: "own".parse().unwrap(), user: UserName::first(), role };
            assert_eq!([identity.owns("own"), identity.owns("other")], expected, "{role:?}");
        }
    }
}
