//! Versions of an object: their names and their order.

use minicbor::{Decode, Encode};

/// The name of a version among those of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionId {
    /// The version that was put while its container kept no old versions.
    Null,
    /// A number that no other version of the key has or will have.
    Number(u128),
}

/// The version of an object among those of its key. Rows of older vaults have none: their object is the only version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Version {
    /// The order: larger than that of every earlier version of the key.
    #[n(0)]
    pub(crate) order: u64,
    /// A random number, so that the number of a removed version never comes again. `None` for the null version.
    #[n(1)]
    pub(crate) salt: Option<u64>,
    /// True for a delete marker, which holds nothing.
    #[n(2)]
    #[cbor(default)]
    pub(crate) is_marker: bool,
}

/// The bound of all orders, so that there is always a larger one.
pub(crate) const MAX_ORDER: u64 = u64::MAX / 2;

impl Version {
    /// Returns the name of the version.
    pub fn id(&self) -> VersionId {
        match self.salt {
            None => VersionId::Null,
            Some(salt) => VersionId::Number(u128::from(self.order) << 64 | u128::from(salt)),
        }
    }

    /// Returns whether it is a delete marker.
    pub fn is_marker(&self) -> bool {
        self.is_marker
    }
}

impl VersionId {
    /// Returns the order of the version of this name; `None` for the null version, whose name does not show it.
    pub(crate) fn order(self) -> Option<u64> {
        match self {
            VersionId::Null => None,
            VersionId::Number(number) => Some((number >> 64) as u64),
        }
    }
}
