//! Grants: the others that an owner lets in, in the words of S3's access control lists.

use minicbor::{Decode, Encode};

/// A permission for somebody.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Grant {
    /// The grantee that gets it.
    #[n(0)]
    pub grantee: Grantee,
    /// The permission that he gets.
    #[n(1)]
    pub permission: Permission,
}

/// The principals that can get a permission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Grantee {
    /// Everybody of an account.
    #[n(0)]
    Account(#[n(0)] String),
    /// Everybody who proves who he is.
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
