//! The home of a vault: a temporary folder with its trusted disk, which can be killed and opened again.

use crate::bench::service::{CountedDisk, DiskUsageReader};
use crate::thesis::error::ThesisError;
use ameles_core::types::BlockId;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_vault::{
    Call, Entropy, Host, Setup, TrustedDisk, Vault, VaultHeader, VaultParameters, VaultStore, draw_header,
};
use rand_core::{OsRng, TryRngCore};
use tempfile::TempDir;

const DATABASE: &str = "trusted.redb";
const PLACES: &str = "trusted.stash";

/// The home.
pub(crate) struct VaultFolder {
    folder: TempDir,
    header: VaultHeader,
    master: MasterKey,
    disk: DiskUsageReader,
}

impl VaultFolder {
    /// A home for a vault with these parameters.
    pub(crate) fn new(parameters: VaultParameters) -> Result<Self, ThesisError> {
        let folder = tempfile::Builder::new().prefix("ameles-lab-").tempdir().map_err(ThesisError::live)?;
        let header = draw_header(&mut Entropy::system(), parameters, None);
        let master = MasterKey::draw(&mut OsRng.unwrap_err());
        Ok(VaultFolder { folder, header, master, disk: DiskUsageReader::default() })
    }

    /// The parameters of the vault.
    pub(crate) fn parameters(&self) -> &VaultParameters {
        &self.header.parameters
    }

    /// Makes the vault over a store.
    pub(crate) async fn create<U: VaultStore + Send>(&self, store: U) -> Result<(), ThesisError> {
        Vault::create(&mut self.setup(store)?, &self.header).await.map_err(ThesisError::live)
    }

    /// Opens the vault that was made, on a thread of its own.
    pub(crate) async fn open<U: VaultStore + Send>(&self, store: U) -> Result<Vault, ThesisError> {
        Vault::open(self.setup(store)?).await.map_err(ThesisError::live)
    }

    /// The parts to make or open it with.
    pub(crate) fn setup<U>(&self, store: U) -> Result<Setup<U>, ThesisError> {
        let file = |name: &str| CountedDisk::open(&self.folder.path().join(name), &self.disk);
        let (database, places) =
            (file(DATABASE).map_err(ThesisError::live)?, file(PLACES).map_err(ThesisError::live)?);
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        Ok(Setup {
            disk: TrustedDisk::with_backends(database, places).map_err(ThesisError::live)?,
            store,
            master: self.master.clone(),
            entropy: Entropy::system(),
            workers: SealThreads::threads(threads).map_err(ThesisError::live)?,
            pace: None,
            host: Host::system(&self.folder.path().join(DATABASE)),
        })
    }

    /// Kills the process that has the vault open, as far as the trusted disk sees it.
    pub(crate) fn kill(&self) {
        self.disk.kill();
    }
}

/// Writes every block with this byte.
pub(crate) async fn fill(vault: &Vault, byte: u8) -> Result<(), ThesisError> {
    let batch = vault.max_batch();
    for first in (0..vault.capacity()).step_by(batch) {
        let blocks = first..vault.capacity().min(first + batch as u64);
        let write = |block| Call::Write(BlockId(block), vec![byte; vault.block_bytes()].into());
        vault.access(blocks.map(write).collect()).await.map_err(ThesisError::live)?;
    }
    Ok(())
}

/// Waits until no eviction is owed.
pub(crate) async fn settle(vault: &Vault) -> Result<(), ThesisError> {
    while vault.status().evictions_owed > 0 {
        if let Some(error) = vault.failure() {
            return Err(ThesisError::live(error));
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    Ok(())
}
