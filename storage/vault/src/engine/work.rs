//! The work that the engine requests from the store, and its execution.

use ameles_core::store::{BucketVersion, Untrusted};
use ameles_seal::error::SealError;
use ameles_seal::sealed::{Sealed, VersionedSlot};
use bytes::Bytes;

/// The store's work for an operation.
pub(crate) enum Work {
    /// The buffer is for the answer; its contents are ignored.
    Read(Vec<VersionedSlot>, Vec<u8>),
    Write(Vec<BucketVersion>, Bytes),
}

/// Executes a read or a write. A write returns the buffer of its plaintext, if nothing else uses it.
pub(crate) async fn execute<U: Untrusted>(sealed: &Sealed<U>, work: Work) -> Result<Vec<u8>, SealError> {
    match work {
        Work::Read(places, mut into) => {
            let layout = sealed.layout();
            into.resize(places.iter().map(|at| layout.slot_bytes(at.slot)).sum(), 0);
            sealed.read_places(&places, &mut into).await?;
            Ok(into)
        }
        Work::Write(buckets, plaintext) => {
            sealed.write_assigned(&buckets, &plaintext).await?;
            Ok(if plaintext.is_unique() { plaintext.into() } else { Vec::new() })
        }
    }
}
