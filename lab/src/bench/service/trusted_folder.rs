//! The temporary folder of a vault, with its trusted disk.

use super::super::BenchError;
use super::counted_disk::{CountedDisk, DiskUsage, DiskUsageReader};
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_vault::{
    Entropy, Host, SHIP_AFTER, Setup, TrustedDisk, Vault, VaultHeader, VaultParameters, VaultStore,
    draw_header,
};
use rand_core::{OsRng, TryRngCore};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

/// The files of the trusted disk.
const DATABASE: &str = "trusted.redb";
const PLACES: &str = "trusted.stash";
const JOURNAL: &str = "trusted.journal";

/// The number of bytes that are read and opened in one piece for comparison.
const PIECE: usize = 256 << 10;

/// A temporary folder with the trusted disk of a vault, which counts its traffic. The vault can be killed and opened
/// again.
pub(crate) struct TrustedFolder {
    folder: TempDir,
    header: VaultHeader,
    master: MasterKey,
    database: DiskUsageReader,
    places: DiskUsageReader,
    journal: DiskUsageReader,
}

impl TrustedFolder {
    /// A new temporary folder, whose name begins with `prefix`, for a vault with these parameters.
    pub(crate) fn new(prefix: &str, parameters: VaultParameters) -> Result<Self, BenchError> {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir();
        Ok(TrustedFolder {
            folder: folder.map_err(BenchError::failed)?,
            header: draw_header(&mut Entropy::system(), parameters, None),
            master: MasterKey::draw(&mut OsRng.unwrap_err()),
            database: DiskUsageReader::default(),
            places: DiskUsageReader::default(),
            journal: DiskUsageReader::default(),
        })
    }

    pub(crate) fn parameters(&self) -> &VaultParameters {
        &self.header.parameters
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The traffic of the trusted disk.
    pub(crate) fn disk_usage(&self) -> DiskUsage {
        let (database, places) = self.disk_usage_by_file();
        database.with(&places)
    }

    /// The traffic of the database with the journal, and of the stash's places.
    pub(crate) fn disk_usage_by_file(&self) -> (DiskUsage, DiskUsage) {
        (self.database.usage().with(&self.journal.usage()), self.places.usage())
    }

    /// The bytes of the files of the trusted disk.
    pub(crate) fn disk_bytes(&self) -> Result<u64, BenchError> {
        let bytes = |name| std::fs::metadata(self.path().join(name)).map(|file| file.len());
        let bytes = |name| bytes(name).map_err(BenchError::failed);
        Ok(bytes(DATABASE)? + bytes(PLACES)? + bytes(JOURNAL)?)
    }

    /// Returns the seconds for reading this many bytes of the files of the trusted disk and for opening as many sealed
    /// bytes. An opening of the vault needs at least this time.
    pub(crate) fn baseline_opening_seconds(&self, bytes: u64) -> Result<f64, BenchError> {
        let (context, cipher) = ([0; 16], Cipher::default());
        let text = vec![7; PIECE];
        let sealed = blob::seal(&self.master, Purpose::ROWS, &context, cipher, Salt([1; 32]), &text);
        let start = Instant::now();
        let mut left = bytes;
        let mut read = vec![0; PIECE];
        while left > 0 {
            for name in [DATABASE, PLACES, JOURNAL] {
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
    pub(crate) fn kill(&self) {
        self.database.kill();
        self.places.kill();
        self.journal.kill();
    }

    /// Creates the vault over `store`. Its layout is [`VaultParameters::layout`].
    pub(crate) async fn create<U: VaultStore + Send>(&self, store: U) -> Result<(), BenchError> {
        Vault::create(&mut self.setup(store)?, &self.header).await.map_err(BenchError::failed)
    }

    /// Creates the vault over `store`, and opens it.
    pub(crate) async fn create_and_open<U: VaultStore + Send>(&self, store: U) -> Result<Vault, BenchError> {
        let mut setup = self.setup(store)?;
        Vault::create(&mut setup, &self.header).await.map_err(BenchError::failed)?;
        Vault::open(setup).await.map_err(BenchError::failed)
    }

    /// Opens the vault, perhaps over another link to its store.
    pub(crate) async fn open<U: VaultStore + Send>(&self, store: U) -> Result<Vault, BenchError> {
        Vault::open(self.setup(store)?).await.map_err(BenchError::failed)
    }

    /// The parts with which the vault is created or opened.
    pub(crate) fn setup<U>(&self, store: U) -> Result<Setup<U>, BenchError> {
        let file = |name: &str, counts| CountedDisk::open(&self.folder.path().join(name), counts);
        let (database, places) = (file(DATABASE, &self.database)?, file(PLACES, &self.places)?);
        let journal = file(JOURNAL, &self.journal)?;
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        Ok(Setup {
            disk: TrustedDisk::with_backends(database, places, journal).map_err(BenchError::failed)?,
            store,
            master: self.master.clone(),
            entropy: Entropy::system(),
            workers: SealThreads::threads(threads).map_err(BenchError::failed)?,
            pace: None,
            ship_after: SHIP_AFTER,
            host: Host::system(&self.folder.path().join(DATABASE)),
        })
    }
}
