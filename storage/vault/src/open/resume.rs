//! The engine of a vault, resumed from a checkpoint on the trusted disk.

use super::state::State;
use crate::engine::Engine;
use crate::engine::deferred_store::DeferredStore;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::store::VaultStore;
use crate::trusted::checkpoint::Garbage;
use crate::trusted::checkpoint_writer::CheckpointWriter;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::payload_reader::PayloadReader;
use crate::trusted::summary::CheckpointHead;
use ameles_seal::key_ring::KeyRing;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::Sealed;
use std::rc::Rc;

/// A vault as it was at its last checkpoint.
pub(super) struct ResumedVault<U> {
    pub(super) head: CheckpointHead,
    pub(super) engine: Engine<U>,
    pub(super) garbage: Vec<Garbage>,
    pub(super) writer: CheckpointWriter,
}

/// Resumes the engine of a state. The journal after it must be replayed next.
///
/// # Errors
/// [`VaultError::Damaged`], and the errors of the disk.
pub(super) fn resume<U: VaultStore>(
    state: State,
    (side, ring): ((&TrustedDisk, &VaultHeader, &MasterKey), &KeyRing),
    (store, workers): (U, SealThreads),
    entropy: &mut Entropy,
) -> Result<ResumedVault<U>, VaultError> {
    let State { head, scheme, versions, garbage, writer } = state;
    let deferred_store = Rc::new(DeferredStore::default());
    let payload_reader = PayloadReader::of(side, writer.directory.slot_map(), entropy)?;
    let stash = (&writer.directory, payload_reader.as_ref());
    let scheme = State::resume(scheme, (deferred_store.clone(), head.seed), side, stash)?;
    let cipher = side.1.parameters.cipher()?;
    let sealed = Rc::new(Sealed::new(store, ring, cipher, entropy.nonces(), versions, workers)?);
    let engine = Engine::new(sealed, scheme, (deferred_store, payload_reader), head.accesses);
    Ok(ResumedVault { head, engine, garbage, writer })
}
