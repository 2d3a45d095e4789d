//! The journal in the store. A lost machine loses nothing that was acknowledged. A displaced gateway acknowledges
//! nothing that its successor lacks. Altered objects are detected. Only the batches' lengths are visible.
//!
//! `every_step` tests the loss of a machine at every step, `crash_traces` tests what crashes reveal, and `pace` tests
//! what a paced vault reveals.

mod announced;
mod copies;
mod displaced;
mod lost_machine;
mod payloads;
mod tampering;
mod visible_objects;

use crate::promises::fixture::VaultFixture;
use crate::support::{header, memory_disk, parameters, restore_options, setup};
use ameles_core::schemes::path::PathParameters;
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::{
    JournalPlace, Receipt, SchemeParameters, TrustedDisk, Vault, VaultError, VaultHeader, VaultParameters,
    restore,
};

/// The fixture's vault with its journal in the store.
fn with_journal_in_store() -> VaultParameters {
    VaultParameters { journal: JournalPlace::Store, ..parameters(64, 32, 4, 40) }
}

/// The vault under Path ORAM.
fn under_path_oram() -> VaultParameters {
    let path = PathParameters::for_capacity(64, 32, 32, 4).expect("planned");
    VaultParameters { scheme: SchemeParameters::Path(path), ..with_journal_in_store() }
}

async fn fixture() -> VaultFixture {
    VaultFixture::with(header(with_journal_in_store(), 1)).await
}

/// Restores the vault from its store alone.
async fn restore_from(
    header: &VaultHeader,
    store: VersionedMemory,
    disk: &TrustedDisk,
) -> Result<Receipt, VaultError> {
    let options = restore_options(header, None);
    restore(setup(disk, store, 99), options).await
}

/// Restores the vault from its store alone, and works with it.
async fn in_successor<T>(
    header: &VaultHeader,
    store: &VersionedMemory,
    work: impl AsyncFnOnce(&Vault) -> T,
) -> Result<T, VaultError> {
    let disk = memory_disk();
    restore_from(header, store.clone(), &disk).await?;
    let (vault, running) = Vault::start(setup(&disk, store.clone(), 100)).await?;
    let working = async {
        let done = work(&vault).await;
        vault.close().await.map(|_| done)
    };
    futures::join!(working, running).0
}

/// The names of the journal's objects.
pub async fn objects(store: &VersionedMemory) -> Vec<String> {
    let listed = store.list("log/").await.expect("memory does not fail");
    listed.into_iter().map(|blob| blob.name).collect()
}
