//! A vault in service for a bench: made in a temporary folder, filled, and asked at random. The benches over
//! [`files`](super::files) and over a [`link`](super::link) measure the same one.

mod counted_disk;

use super::report::{Report, TrustedMemory, bytes};
use super::{BenchError, Progress};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_vault::{
    Call, Entropy, Host, SchemeParameters, Setup, Status, TreeTopPlace, TrustedDisk, Vault, VaultHeader,
    VaultParameters, VaultStore, draw_header,
};
pub(crate) use counted_disk::{CountedDisk, DiskUsage, DiskUsageReader};
use rand_chacha::ChaCha8Rng;
use rand_core::{OsRng, RngCore, SeedableRng, TryRngCore};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;

/// The options that the vault's benches have in common.
#[derive(Clone, Debug)]
pub struct VaultOptions {
    /// Blocks of the vault.
    pub capacity: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks that the trusted side may hold: stash and tree top.
    pub trusted_blocks: u64,
    /// True if stash and tree top are on the trusted disk.
    pub on_disk: bool,
    /// The largest batch.
    pub batch: u32,
    /// Blocks that are written before anything is measured, and asked for afterwards.
    pub filled: u64,
    /// Ring ORAM's A; the one that moves the fewest bytes if nothing is said.
    pub eviction_rate: Option<u32>,
    /// Accesses between two checkpoints on the trusted disk; as vaults usually have it if nothing is said.
    pub checkpoint_every: Option<u64>,
    /// The cipher that seals the slots.
    pub cipher: Cipher,
    /// The place of a temporary folder for the vault and the baseline; the system's place if nothing is said.
    pub folder: Option<PathBuf>,
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
            eviction_rate: None,
            checkpoint_every: None,
            cipher: Cipher::default(),
            folder: None,
        }
    }

    /// The parameters that they lead to.
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
        match self.eviction_rate {
            None => Ok(RingParameters::for_capacity(capacity, block_bytes, trusted_blocks, batch)),
            Some(rate) => RingParameters::for_rate(capacity, block_bytes, trusted_blocks, batch, rate)
                .ok_or_else(|| {
                    BenchError::Options(format!(
                        "A = {rate} needs more trusted memory than {trusted_blocks} blocks"
                    ))
                }),
        }
    }
}

/// The files of the trusted disk.
const DATABASE: &str = "trusted.redb";
const PLACES: &str = "trusted.stash";

/// Bytes that are read and opened in one piece for comparison.
const PIECE: usize = 256 << 10;

/// The home of a vault: a temporary folder with its trusted disk, which counts.
pub(super) struct VaultFolder {
    folder: TempDir,
    header: VaultHeader,
    master: MasterKey,
    database: DiskUsageReader,
    places: DiskUsageReader,
    pub(super) ring: RingParameters,
}

impl VaultFolder {
    pub(super) fn new(options: &VaultOptions) -> Result<Self, BenchError> {
        let mut folder = tempfile::Builder::new();
        folder.prefix("ameles-bench-");
        let folder = match &options.folder {
            Some(parent) => folder.tempdir_in(parent),
            None => folder.tempdir(),
        };
        Ok(VaultFolder {
            folder: folder.map_err(BenchError::failed)?,
            header: draw_header(&mut Entropy::system(), options.parameters()?, None),
            master: MasterKey::draw(&mut OsRng.unwrap_err()),
            database: DiskUsageReader::default(),
            places: DiskUsageReader::default(),
            ring: options.ring()?,
        })
    }

    pub(super) fn header(&self) -> &VaultHeader {
        &self.header
    }

    pub(super) fn parameters(&self) -> &VaultParameters {
        &self.header.parameters
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The traffic of the trusted disk.
    pub(super) fn disk_usage(&self) -> DiskUsage {
        let (database, places) = self.disk_usage_by_file();
        database.with(&places)
    }

    /// The traffic of the database, and of the stash's places.
    pub(super) fn disk_usage_by_file(&self) -> (DiskUsage, DiskUsage) {
        (self.database.usage(), self.places.usage())
    }

    /// The bytes of the files of the trusted disk.
    pub(super) fn disk_bytes(&self) -> Result<u64, BenchError> {
        let bytes = |name| std::fs::metadata(self.path().join(name)).map(|file| file.len());
        Ok(bytes(DATABASE).map_err(BenchError::failed)? + bytes(PLACES).map_err(BenchError::failed)?)
    }

    /// Seconds for reading so many bytes of the files of the trusted disk, and for opening as many that are sealed: what an
    /// opening of the vault cannot do without.
    pub(super) fn baseline_opening_seconds(&self, bytes: u64) -> Result<f64, BenchError> {
        let (context, cipher) = ([0; 16], Cipher::default());
        let text = vec![7; PIECE];
        let sealed = blob::seal(&self.master, Purpose::ROWS, &context, cipher, Salt([1; 32]), &text);
        let start = Instant::now();
        let mut left = bytes;
        let mut read = vec![0; PIECE];
        while left > 0 {
            for name in [DATABASE, PLACES] {
                let mut file = File::open(self.path().join(name)).map_err(BenchError::failed)?;
                while left > 0 {
                    let max = PIECE.min(usize::try_from(left).unwrap_or(PIECE));
                    let received = file.read(&mut read[..max]).map_err(BenchError::failed)?;
                    if received == 0 {
                        break;
                    }
                    left -= received as u64;
                }
            }
        }
        for _ in 0..bytes.div_ceil(PIECE as u64) {
            let opened = blob::open(&self.master, Purpose::ROWS, &context, &sealed);
            std::hint::black_box(opened.map_err(BenchError::failed)?);
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Kills the process that has the vault open, as far as the trusted disk sees it.
    pub(super) fn kill(&self) {
        self.database.kill();
        self.places.kill();
    }

    /// Makes the vault over `store`. Its layout is [`VaultParameters::layout`].
    pub(super) async fn create<U: VaultStore + Send>(&self, store: U) -> Result<Vault, BenchError> {
        let mut setup = self.setup(store)?;
        Vault::create(&mut setup, &self.header).await.map_err(BenchError::failed)?;
        Vault::open(setup).await.map_err(BenchError::failed)
    }

    /// Opens the vault that was made, perhaps over another way to its store.
    pub(super) async fn open<U: VaultStore + Send>(&self, store: U) -> Result<Vault, BenchError> {
        Vault::open(self.setup(store)?).await.map_err(BenchError::failed)
    }

    /// The parts to make or open it with.
    pub(super) fn setup<U>(&self, store: U) -> Result<Setup<U>, BenchError> {
        let file = |name: &str, counts| CountedDisk::open(&self.folder.path().join(name), counts);
        let (database, places) = (file(DATABASE, &self.database)?, file(PLACES, &self.places)?);
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        Ok(Setup {
            disk: TrustedDisk::with_backends(database, places).map_err(BenchError::failed)?,
            store,
            master: self.master.clone(),
            entropy: Entropy::system(),
            workers: SealThreads::threads(threads).map_err(BenchError::failed)?,
            pace: None,
            host: Host::system(&self.folder.path().join("trusted.redb")),
        })
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
        let parameters = &self.header.parameters;
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
