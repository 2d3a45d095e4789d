//! Grants: the rights that an owner gives to others, as in S3's access control lists.

use minicbor::{Decode, Encode};

/// A permission for a grantee.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Grant {
    /// The grantee.
    #[n(0)]
    pub grantee: Grantee,
    /// The permission.
    #[n(1)]
    pub permission: Permission,
}

/// The principals that can get a permission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Grantee {
    /// All users of an account.
    #[n(0)]
    Account(#[n(0)] String),
    /// All authenticated users.
    #[n(1)]
    Authenticated,
    /// Everybody.
    #[n(2)]
    Everybody,
}

/// The permission of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Permission {
    /// All of the others.
    #[n(0)]
    FullControl,
    /// Reading: of a container its list, of an object its bytes.
    #[n(1)]
    Read,
    /// Putting and deleting objects of a container.
    #[n(2)]
    Write,
    /// Reading the grants.
    #[n(3)]
    ReadGrants,
    /// Changing the grants.
    #[n(4)]
    WriteGrants,
}
