//! The vaults of the examples, whose trusted disk is a folder.

use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_vault::{Entropy, Host, SHIP_AFTER, Setup, TrustedDisk, VaultStore};
use std::error::Error;
use std::path::Path;

/// The setup of a vault over a store, with its trusted disk in a folder.
pub(crate) fn setup<S: VaultStore>(folder: &Path, store: S) -> Result<Setup<S>, Box<dyn Error>> {
    let file = folder.join("trusted.redb");
    Ok(Setup {
        disk: TrustedDisk::open(&file)?,
        store,
        master: MasterKey::take(&mut [7; 32]),
        entropy: Entropy::system(),
        workers: SealThreads::threads(2)?,
        pace: None,
        ship_after: SHIP_AFTER,
        host: Host::system(&file),
    })
}
