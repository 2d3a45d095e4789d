//! A user: its identity and its credentials.

use super::{AccountName, PasswordHash, UserName};
use base16ct::lower::encode_string as hex;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The rights of a user without any access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user may do only what the access list of a container grants.
    Member,
    /// Everything in the user's own account, except for setting its quota.
    Owner,
    /// Everything in every account, quotas included: the role of the operator of the gateway.
    Admin,
}

impl Role {
    /// Returns the role's name in files and commands.
    pub fn name(self) -> &'static str {
        match self {
            Role::Member => "member",
            Role::Owner => "owner",
            Role::Admin => "admin",
        }
    }
}

/// The identity of a user: its account, its name and its role.
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
    /// Returns a name for the user that is unique in the gateway, in Keystone's form: 32 hexadecimal digits. It is
    /// derived from account and user, and is not secret.
    pub fn id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.account.as_str());
        hash.update([0]);
        hash.update(self.user.as_str());
        hex(&hash.finalize()[..16])
    }

    /// Returns whether the user owns this account.
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
    /// The public part, which is in every request.
    pub id: String,
    /// The secret that signs.
    pub secret: Zeroizing<String>,
}

impl AccessKey {
    /// Creates a pair of keys.
    pub fn new(id: impl Into<String>, secret: impl Into<String>) -> Self {
        AccessKey { id: id.into(), secret: Zeroizing::new(secret.into()) }
    }
}

impl std::fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccessKey(..)")
    }
}

/// A user with all its credentials.
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
    /// Creates the owner of the first account, with this pair of S3 keys and no password.
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
