//! A vault in service for a bench: made in a temporary folder, filled, and asked at random.

use super::{BenchError, Progress};
use lethe_core::schemes::ring::RingParameters;
use lethe_core::words::BlockId;
use lethe_seal::master_key::MasterKey;
use lethe_seal::parallel::Workers;
use lethe_vault::{
    Call, Entropy, SchemeParameters, Setup, TrustedDisk, Vault, VaultHeader, VaultParameters, VaultStore,
    draw_header,
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::path::Path;

/// What the vault's benches agree on.
#[derive(Clone, Debug)]
pub struct VaultOptions {
    /// Blocks of the vault.
    pub capacity: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks that the trusted side may hold: stash and tree top.
    pub trusted_blocks: u64,
    /// The largest batch.
    pub batch: u32,
    /// Blocks that are written before anything is measured.
    pub filled: u64,
}

impl VaultOptions {
    /// 4096 blocks of 64 KiB, an eighth of them trusted, three quarters filled.
    pub fn standard() -> Self {
        VaultOptions { capacity: 4096, block_bytes: 64 << 10, trusted_blocks: 512, batch: 16, filled: 3072 }
    }

    /// The parameters that they lead to.
    pub fn parameters(&self) -> VaultParameters {
        let ring =
            RingParameters::for_capacity(self.capacity, self.block_bytes, self.trusted_blocks, self.batch);
        VaultParameters::around(SchemeParameters::Ring(ring))
    }
}

/// A vault's trusted side in a folder.
pub(super) struct Trusted {
    disk: TrustedDisk,
}

impl Trusted {
    pub(super) fn new(folder: &Path) -> Result<Self, BenchError> {
        let disk = TrustedDisk::open(&folder.join("vault.redb")).map_err(BenchError::failed)?;
        Ok(Trusted { disk })
    }

    fn setup<U>(&self, store: U) -> Result<Setup<U>, BenchError> {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        Ok(Setup {
            disk: self.disk.clone(),
            store,
            master: MasterKey::take(&mut [1; 32]),
            entropy: Entropy::system(),
            workers: Workers::threads(threads).map_err(BenchError::failed)?,
        })
    }

    pub(super) async fn make<U: VaultStore>(
        &self,
        store: U,
        parameters: VaultParameters,
    ) -> Result<VaultHeader, BenchError> {
        let header = draw_header(&mut Entropy::system(), parameters, None);
        Vault::create(&mut self.setup(store)?, &header).await.map_err(BenchError::failed)?;
        Ok(header)
    }

    pub(super) async fn open<U: VaultStore + Send>(&self, store: U) -> Result<Vault, BenchError> {
        Vault::open(self.setup(store)?).await.map_err(BenchError::failed)
    }
}

/// Writes blocks `0..filled`.
pub(super) async fn fill(vault: &Vault, filled: u64, progress: &dyn Progress) -> Result<(), BenchError> {
    let batch = vault.max_batch() as u64;
    for first in (0..filled).step_by(batch as usize) {
        let blocks = first..filled.min(first + batch);
        let write = |block| Call::Write(BlockId(block), vec![block as u8; vault.block_bytes()]);
        vault.access(blocks.map(write).collect()).await.map_err(BenchError::failed)?;
        progress.at("filling", (first + batch).min(filled), filled);
    }
    Ok(())
}

/// Uniform accesses to the blocks that were filled, half of them reads.
pub(super) struct Uniform {
    random: ChaCha8Rng,
    filled: u64,
    block_bytes: usize,
}

impl Uniform {
    pub(super) fn new(seed: u64, filled: u64, block_bytes: usize) -> Self {
        Uniform { random: ChaCha8Rng::seed_from_u64(seed), filled, block_bytes }
    }

    pub(super) fn block(&mut self) -> BlockId {
        BlockId(self.random.next_u64() % self.filled)
    }

    pub(super) fn call(&mut self) -> Call {
        let block = self.block();
        match self.random.next_u32() % 2 {
            0 => Call::Read(block),
            _ => Call::Write(block, vec![self.random.next_u32() as u8; self.block_bytes]),
        }
    }

    pub(super) fn batch(&mut self, calls: usize) -> Vec<Call> {
        (0..calls).map(|_| self.call()).collect()
    }
}
