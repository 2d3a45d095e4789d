//! The rewriting of buckets: the same slots in the same order, under a new version and the newest key.
//!
//! The scheme is not involved, so buckets may be rewritten between any two of its steps. A watcher learns only which
//! buckets are rewritten. They are chosen by their numbers and the epochs of their versions.

use super::deferred_store::DeferredStore;
use crate::error::VaultError;
use ameles_core::store::Store;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Slot};
use std::rc::Rc;

/// Reads these buckets whole, and writes them again.
pub(super) fn rewrite(
    deferred_store: Rc<DeferredStore>,
    layout: &Layout,
    buckets: &[Bucket],
) -> impl Future<Output = Result<(), VaultError>> + 'static {
    let slots_of = |bucket: &Bucket| {
        let bucket = *bucket;
        (0..layout.extent(bucket).slots).map(move |index| Slot { bucket, index })
    };
    let slots: Vec<Slot> = buckets.iter().flat_map(slots_of).collect();
    let bytes = buckets.iter().map(|bucket| layout.bucket_bytes(*bucket)).sum();
    let buckets = buckets.to_vec();
    async move {
        let mut plain = vec![0; bytes];
        let Ok(()) = deferred_store.read_buffer(&slots, &mut plain).await;
        let Ok(()) = deferred_store.write_buffer(&buckets, &mut plain).await;
        Ok(())
    }
}
