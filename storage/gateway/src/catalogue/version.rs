//! Versions of an object: their names and their order.

use minicbor::{Decode, Encode};

/// The name of a version among those of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionId {
    /// The version that was put while its container kept no old ones.
    Null,
    /// A number that no other version of the key had or will have.
    Number(u128),
}

/// The version of its key that an object is. Rows of older vaults say nothing of it: they hold the only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Version {
    /// Larger than that of every version of the key that was there when it was put.
    #[n(0)]
    pub(crate) order: u64,
    /// Random, so that the number of a version that is gone never comes again; `None` for the null version.
    #[n(1)]
    pub(crate) salt: Option<u64>,
    /// True if it stands for a delete, and holds nothing.
    #[n(2)]
    #[cbor(default)]
    pub(crate) is_marker: bool,
}

/// The bound of all orders: there is always a larger one.
pub(crate) const MAX_ORDER: u64 = u64::MAX / 2;

impl Version {
    /// Its name.
    pub fn id(&self) -> VersionId {
        match self.salt {
            None => VersionId::Null,
            Some(salt) => VersionId::Number(u128::from(self.order) << 64 | u128::from(salt)),
        }
    }

    /// Tells whether it stands for a delete.
    pub fn is_marker(&self) -> bool {
        self.is_marker
    }
}

impl VersionId {
    /// The order of the version of this name. The null version's name says nothing of it.
    pub(crate) fn order(self) -> Option<u64> {
        match self {
            VersionId::Null => None,
            VersionId::Number(number) => Some((number >> 64) as u64),
        }
    }
}
