//! The work that the engine asks of the store, and how it is carried out there.

use ameles_core::store::{BucketVersion, Untrusted};
use ameles_seal::error::SealError;
use ameles_seal::sealed::{Resolved, Sealed};
use bytes::Bytes;

/// The work of the store for an operation.
pub(crate) enum Work {
    /// With a buffer for the answer, whose bytes are of no use.
    Read(Vec<Resolved>, Vec<u8>),
    Write(Vec<BucketVersion>, Bytes),
}

/// Reads or writes what the engine asks for. A write answers with the buffer of its plaintext, if nobody else needs it.
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
