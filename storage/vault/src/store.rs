//! The store that a vault lives on, and the names of its own objects there.

use ameles_core::store::Untrusted;
use ameles_store::{Blobs, Inventory};

/// A store that a vault can live on.
pub trait VaultStore: Untrusted + Blobs + Inventory + 'static {}
impl<T: Untrusted + Blobs + Inventory + 'static> VaultStore for T {}

/// The name of the header on the trusted disk and in the store.
pub(crate) const HEADER: &str = "vault";
pub(crate) const SHIPPED_NOTE: &str = "shipped";

/// A header is small; a larger object is none.
pub(crate) const MAX_HEADER_BYTES: usize = 1 << 20;
