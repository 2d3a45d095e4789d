//! Somebody whose request was found genuine.

use super::{AccountName, UserName};
use crate::objects::checksums::hex;
use sha2::{Digest as _, Sha256};

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

/// The user that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The account that the user belongs to.
    pub account: AccountName,
    /// The user.
    pub user: UserName,
    /// The role, which says what the user may do.
    pub role: Role,
}

impl Caller {
    /// A name for the user that is unique in the gateway, in the form that Keystone gives its own: 32 hexadecimal
    /// digits. It follows from account and user, and is no secret.
    pub fn id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.account.as_str());
        hash.update([0]);
        hash.update(self.user.as_str());
        hex(&hash.finalize()[..16])
    }

    /// Whether everything in this account is the caller's.
    pub fn owns(&self, account: &AccountName) -> bool {
        match self.role {
            Role::Member => false,
            Role::Owner => self.account == *account,
            Role::Admin => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_owns_one_account_an_admin_all_and_a_member_none() {
        let (own, other): (AccountName, AccountName) = ("own".parse().unwrap(), "other".parse().unwrap());
        for (role, expected) in
            [(Role::Member, [false, false]), (Role::Owner, [true, false]), (Role::Admin, [true, true])]
        {
            let caller = Caller { account: own.clone(), user: UserName::first(), role };
            assert_eq!([caller.owns(&own), caller.owns(&other)], expected, "{role:?}");
        }
    }
}
