//! The store that a vault lives on, the names of its own objects there, and how the engine's work is carried out on it.

use crate::engine::Work;
use lethe_core::store::Untrusted;
use lethe_seal::error::SealError;
use lethe_seal::sealed::Sealed;
use lethe_store::{Blobs, Inventory};

/// A store that a vault can live on.
pub trait VaultStore: Untrusted + Blobs + Inventory + 'static {}
impl<T: Untrusted + Blobs + Inventory + 'static> VaultStore for T {}

/// The name of the header on the trusted disk and in the store.
pub(crate) const HEADER: &str = "vault";
pub(crate) const SHIPPED: &str = "shipped";

/// A header is small; a larger object is none.
pub(crate) const MAX_HEADER_BYTES: usize = 1 << 20;

/// Reads or writes what the engine asks for; a write answers with nothing.
pub(crate) async fn carry_out<U: Untrusted>(sealed: &Sealed<U>, work: Work) -> Result<Vec<u8>, SealError> {
    match work {
        Work::Read(places) => {
            let layout = sealed.layout();
            let mut into = vec![0; places.iter().map(|at| layout.slot_bytes(at.slot)).sum()];
            sealed.read_places(&places, &mut into).await?;
            Ok(into)
        }
        Work::Write(buckets, plaintext) => {
            sealed.write_assigned(&buckets, &plaintext).await?;
            Ok(Vec::new())
        }
    }
}
