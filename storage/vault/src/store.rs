//! The trait of a vault's store, and the names of the vault's own objects there.

use ameles_core::store::Untrusted;
use ameles_store::{Blobs, Inventory};

/// A store that a vault can live on.
pub trait VaultStore: Untrusted + Blobs + Inventory + 'static {}
impl<T: Untrusted + Blobs + Inventory + 'static> VaultStore for T {}

/// The name of the header on the trusted disk and in the store.
pub(crate) const HEADER: &str = "vault";
pub(crate) const SHIPPED_NOTE: &str = "shipped";

/// The maximum number of bytes of a header. A larger object is not a header.
pub(crate) const MAX_HEADER_BYTES: usize = 1 << 20;
