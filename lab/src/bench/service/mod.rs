//! The vault of a bench: created in a temporary folder, filled, and accessed at random. The benches over
//! [`files`](super::files) and over a [`link`](super::link) measure the same one.

mod counted_disk;
mod trusted_folder;

use super::report::{Report, TrustedMemory, bytes};
use super::{BenchError, Progress};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_seal::cipher::Cipher;
use ameles_store::VersionedMemory;
use ameles_vault::{
    Call, SchemeParameters, Status, TreeTopPlace, Vault, VaultParameters, with_default_slices,
};
pub(crate) use counted_disk::DiskUsage;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
pub(crate) use trusted_folder::TrustedFolder;

/// The options that the vault's benches have in common.
#[derive(Clone, Debug)]
pub struct VaultOptions {
    /// The number of blocks of the vault.
    pub capacity: u64,
    /// The size of a block in bytes.
    pub block_bytes: u32,
    /// The number of blocks that the trusted side may hold: stash and tree top.
    pub trusted_blocks: u64,
    /// True if stash and tree top are on the trusted disk.
    pub on_disk: bool,
    /// The largest batch.
    pub batch: u32,
    /// The number of blocks that are written before anything is measured, and accessed afterwards.
    pub filled: u64,
    /// The number of accesses between two checkpoints on the trusted disk. The default is the default of the vault.
    pub checkpoint_every: Option<u64>,
    /// The cipher that seals the slots.
    pub cipher: Cipher,
}

impl VaultOptions {
    /// 4096 blocks of 64 KiB, an eighth of them trusted, all filled.
    pub fn standard() -> Self {
        VaultOptions {
            capacity: 4096,
            block_bytes: 64 << 10,
            trusted_blocks: 512,
            on_disk: false,
            batch: 16,
            filled: 4096,
            checkpoint_every: None,
            cipher: Cipher::default(),
        }
    }

    /// The parameters that follow from the options.
    ///
    /// # Errors
    /// [`BenchError::Options`].
    pub fn parameters(&self) -> Result<VaultParameters, BenchError> {
        let scheme = SchemeParameters::Ring(self.ring()?);
        let usual = VaultParameters::with_defaults(scheme);
        let usual = if self.on_disk { usual.with_top_on_disk() } else { usual };
        let checkpoint_every = self.checkpoint_every.unwrap_or(usual.checkpoint_every).max(1);
        let ship_every = usual.recovery_point().div_ceil(checkpoint_every);
        Ok(VaultParameters { cipher: self.cipher.number(), checkpoint_every, ship_every, ..usual })
    }

    fn ring(&self) -> Result<RingParameters, BenchError> {
        if self.capacity == 0 || self.filled == 0 || self.filled > self.capacity || self.batch == 0 {
            return Err(BenchError::Options(
                "give at least one block, fill at least one and no more than there are, and a batch of at least 1".into(),
            ));
        }
        let VaultOptions { capacity, block_bytes, trusted_blocks, batch, .. } = *self;
        let planned = RingParameters::for_capacity(capacity, block_bytes, trusted_blocks, batch);
        Ok(with_default_slices(planned))
    }
}

/// The vault of a bench, by Ring ORAM, in a temporary folder.
pub(super) struct BenchVault {
    pub(super) folder: TrustedFolder,
    pub(super) ring: RingParameters,
}

impl BenchVault {
    pub(super) fn new(options: &VaultOptions) -> Result<Self, BenchError> {
        let folder = TrustedFolder::new("ameles-bench-", options.parameters()?)?;
        Ok(BenchVault { folder, ring: options.ring()? })
    }

    /// Creates the vault over `memory`, fills it and lets every path be evicted once, with no link before the store.
    pub(super) async fn warm_up(
        &self,
        memory: &VersionedMemory,
        load: &mut UniformLoad,
        progress: &dyn Progress,
    ) -> Result<(), BenchError> {
        let vault = self.folder.create_and_open(memory.clone()).await?;
        fill(&vault, load.filled, progress).await?;
        let round = u64::from(self.ring.eviction_rate) << self.ring.leaf_level.0;
        let batch = vault.max_batch();
        for done in (0..round).step_by(batch) {
            progress.on_step("warming up", done, round);
            vault.access(load.calls(batch)).await.map_err(BenchError::failed)?;
        }
        vault.close().await.map_err(BenchError::failed)?;
        Ok(())
    }

    /// The memory of the vault on the trusted side. A stash does not shrink, so this is its peak.
    pub(super) fn trusted(&self, status: &Status) -> TrustedMemory {
        let layout = self.ring.geometry().layout();
        let position_map = 4 * self.ring.capacity;
        let metadata = 4 * layout.slots() + 5 * layout.buckets();
        let versions = 12 * layout.buckets();
        let maps = position_map + metadata + versions;
        TrustedMemory {
            stash_and_top: status.trusted_bytes.saturating_sub(maps),
            position_map,
            metadata,
            versions,
        }
    }

    /// Writes down which vault it is.
    pub(super) fn describe(&self, report: &mut Report) {
        let parameters = self.folder.parameters();
        report.set("scheme", format!("Ring ORAM, {:?}", self.ring));
        let (all, up) = (self.ring.slots_per_access(), self.ring.slots_written_per_access());
        report.set("expected", format!("{all:.2} slots an access: {:.2} down, {up:.2} up", all - up));
        report.set("position map", "flat, on the trusted side");
        report.set("sealing", Cipher::from_number(parameters.cipher).unwrap_or_default());
        report.set(
            "checkpoints",
            format!(
                "every {} accesses on the trusted disk, every {} in the store ({} each)",
                parameters.checkpoint_every,
                parameters.recovery_point(),
                bytes(parameters.shipped_bytes())
            ),
        );
        if parameters.tree_top == TreeTopPlace::Disk {
            let resident_memory =
                bytes(parameters.resident_blocks() * u64::from(parameters.scheme.block_bytes()));
            report.set(
                "stash and tree top",
                format!("on the trusted disk, at most {resident_memory} of it in memory"),
            );
        }
        report.set("stored at most", bytes(parameters.stored_bytes()));
    }
}

/// Writes blocks `0..filled`, in full batches.
pub(super) async fn fill(vault: &Vault, filled: u64, progress: &dyn Progress) -> Result<(), BenchError> {
    let batch = vault.max_batch() as u64;
    for first in (0..filled).step_by(batch as usize) {
        let blocks = first..filled.min(first + batch);
        let write = |block| Call::Write(BlockId(block), vec![block as u8; vault.block_bytes()].into());
        vault.access(blocks.map(write).collect()).await.map_err(BenchError::failed)?;
        progress.on_step("filling", (first + batch).min(filled), filled);
    }
    Ok(())
}

/// Uniform accesses to the blocks that were filled, half of them reads.
pub(super) struct UniformLoad {
    random: ChaCha8Rng,
    filled: u64,
    block_bytes: usize,
}

impl UniformLoad {
    pub(super) fn new(seed: u64, filled: u64, block_bytes: usize) -> Self {
        UniformLoad { random: ChaCha8Rng::seed_from_u64(seed), filled, block_bytes }
    }

    pub(super) fn block(&mut self) -> BlockId {
        BlockId(self.random.next_u64() % self.filled)
    }

    pub(super) fn call(&mut self) -> Call {
        let block = self.block();
        match self.random.next_u32() % 2 {
            0 => Call::Read(block),
            _ => Call::Write(block, vec![self.random.next_u32() as u8; self.block_bytes].into()),
        }
    }

    pub(super) fn calls(&mut self, calls: usize) -> Vec<Call> {
        (0..calls).map(|_| self.call()).collect()
    }
}
