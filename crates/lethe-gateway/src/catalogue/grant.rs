//! Grants: whom an owner lets in beside himself, in the words of S3's access control lists.

use minicbor::{Decode, Encode};

/// One permission for somebody.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Grant {
    /// Who gets it.
    #[n(0)]
    pub grantee: Grantee,
    /// What he may do.
    #[n(1)]
    pub permission: Permission,
}

/// Who gets a permission.
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

/// What a grant permits.
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
