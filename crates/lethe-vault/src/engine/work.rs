//! The work that the engine asks of the store, and how it is carried out there.

use bytes::Bytes;
use lethe_core::store::{BucketVersion, Untrusted};
use lethe_seal::error::SealError;
use lethe_seal::sealed::{Resolved, Sealed};

/// The work of the store for an operation.
pub(crate) enum Work {
    Read(Vec<Resolved>),
    Write(Vec<BucketVersion>, Bytes),
}

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
