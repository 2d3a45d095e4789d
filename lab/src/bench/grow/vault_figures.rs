//! The life of one vault: filled, measured, killed and opened again.

use super::super::cpu_time::process_cpu_time;
use super::super::report::TrustedMemory;
use super::super::resident::resident_memory;
use super::super::sample::Sample;
use super::super::service::{BenchVault, DiskUsage, UniformLoad, VaultOptions, fill};
use super::super::{BenchError, Progress};
use super::options::GrowOptions;
use ameles_store::{Inventory, VersionedMemory};
use ameles_vault::{CheckpointBytes, OpeningFigures, Status, Vault, VaultError};
use std::time::{Duration, Instant};

/// The windows of a measurement.
const WINDOWS: u64 = 8;

/// The findings about one vault.
pub(super) struct VaultFigures {
    pub(super) capacity: u64,
    pub(super) block_bytes: u64,
    pub(super) windows: Vec<Window>,
    /// The number of times that each piece of the state was written during the windows.
    pub(super) cycles: f64,
    /// The blocks in the stash at rest, before and after.
    pub(super) stash: (u64, u64),
    pub(super) full_journal: Vec<OpeningCost>,
    pub(super) empty_journal: Vec<OpeningCost>,
    pub(super) trusted: TrustedMemory,
    /// The resident memory that the vault adds to the process, without the bytes in its store.
    pub(super) resident_memory: u64,
    pub(super) disk_bytes: u64,
    pub(super) stored: u64,
}

/// The cost of a run of accesses.
pub(super) struct Window {
    pub(super) accesses: u64,
    pub(super) database: DiskUsage,
    pub(super) places: DiskUsage,
    pub(super) journal: u64,
    pub(super) checkpoints: CheckpointBytes,
    seconds: f64,
}

impl Window {
    pub(super) fn written_per_access(&self) -> f64 {
        (self.database.written + self.places.written) as f64 / self.accesses as f64
    }

    pub(super) fn rate(&self) -> f64 {
        self.accesses as f64 / self.seconds
    }

    /// Returns the number of bytes that the database writes in addition to its input.
    pub(super) fn database_overhead(&self) -> u64 {
        let received = self.journal + self.checkpoints.total() - self.checkpoints.payloads;
        self.database.written.saturating_sub(received)
    }
}

/// The cost of an opening.
#[derive(Clone, Copy)]
pub(super) struct OpeningCost {
    pub(super) seconds: f64,
    /// The number of seconds for reading as many bytes of the same files, and opening as many that are sealed.
    pub(super) baseline_seconds: f64,
    /// The processor's time of the opening, over that of the same reading and opening.
    pub(super) cpu_ratio: f64,
    /// The number of bytes read of the database.
    pub(super) database: u64,
    /// The number of bytes read of the places.
    pub(super) places: u64,
    /// The number of bytes of the journal's records that existed.
    pub(super) journal: u64,
    pub(super) parts: OpeningFigures,
}

impl OpeningCost {
    /// Returns the number of bytes read.
    pub(super) fn read(&self) -> u64 {
        self.database + self.places
    }

    /// Returns the seconds in which the database checks its file and opens it.
    pub(super) fn file_seconds(&self) -> f64 {
        let OpeningFigures { state, journal, store, .. } = self.parts;
        self.seconds - (state + journal + store).as_secs_f64()
    }
}

impl VaultFigures {
    /// Measures a vault with these options.
    pub(super) async fn measure(
        vault: &VaultOptions,
        options: &GrowOptions,
        progress: &dyn Progress,
    ) -> Result<Self, BenchError> {
        let before = resident_memory().map_or(0, |resident_memory| resident_memory.now);
        let bench_vault = BenchVault::new(vault)?;
        let store = VersionedMemory::new(bench_vault.folder.parameters().layout());
        bench_vault.folder.create(store.clone()).await?;
        let test_vault = TestVault {
            bench_vault,
            store,
            load: UniformLoad::new(1, vault.capacity, vault.block_bytes as usize),
        };
        test_vault.run(vault, options, progress, before).await
    }

    /// Returns the number of bytes written and read on the trusted disk for each access, shipments included.
    pub(super) fn local_per_access(&self) -> f64 {
        self.mean(|window| {
            let total = window.database.with(&window.places);
            total.written + total.read
        })
    }

    /// The mean per access of a count over all windows, which are whole cycles: rare work counts with its share.
    pub(super) fn mean(&self, count: impl Fn(&Window) -> u64) -> f64 {
        self.windows.iter().map(count).sum::<u64>() as f64 / self.accesses() as f64
    }

    pub(super) fn accesses(&self) -> u64 {
        self.windows.iter().map(|window| window.accesses).sum()
    }

    /// The median of a figure of the openings with a full journal.
    pub(super) fn median_opening(&self, figure: impl Fn(&OpeningCost) -> f64) -> f64 {
        Sample::of(self.full_journal.iter().map(figure)).median
    }

    /// The median of a figure of the openings with an empty journal.
    pub(super) fn median_opening_without_journal(&self, figure: impl Fn(&OpeningCost) -> f64) -> f64 {
        Sample::of(self.empty_journal.iter().map(figure)).median
    }

    pub(super) fn payload(&self) -> f64 {
        (self.capacity * self.block_bytes) as f64
    }
}

/// The two sides of a vault, and those who request its blocks.
struct TestVault {
    bench_vault: BenchVault,
    store: VersionedMemory,
    load: UniformLoad,
}

/// The findings of its first opening.
struct Measured {
    windows: Vec<Window>,
    cycles: f64,
    stash: (u64, u64),
    status: Status,
    resident_memory: u64,
}

impl TestVault {
    async fn run(
        mut self,
        vault: &VaultOptions,
        options: &GrowOptions,
        progress: &dyn Progress,
        resident_before: u64,
    ) -> Result<VaultFigures, BenchError> {
        let ((measured, mut journal), _) = self
            .open(async |test_vault, vault| {
                let measured = test_vault.measure(vault, options, progress).await?;
                Ok((measured, test_vault.fill_the_journal(vault).await?))
            })
            .await?;
        let (mut full_journal, mut empty_journal) = (Vec::new(), Vec::new());
        for done in 0..options.crashes {
            progress.on_step("crashes", done as u64, options.crashes as u64);
            let ((), opening) = self.open(async |_, _| Ok(())).await?;
            full_journal.push(OpeningCost { journal, ..opening });
            let (next, opening) =
                self.open(async |test_vault, vault| test_vault.fill_the_journal(vault).await).await?;
            journal = next;
            empty_journal.push(opening);
        }
        let mut stored = 0;
        let mut count = |_, bytes: ameles_core::types::Bytes| stored += bytes.0;
        self.store.list_bucket_versions(&mut count).await.map_err(BenchError::failed)?;
        Ok(VaultFigures {
            capacity: vault.capacity,
            block_bytes: vault.block_bytes.into(),
            windows: measured.windows,
            cycles: measured.cycles,
            stash: measured.stash,
            full_journal,
            empty_journal,
            trusted: self.bench_vault.trusted(&measured.status),
            resident_memory: measured.resident_memory.saturating_sub(resident_before + stored),
            disk_bytes: self.bench_vault.folder.disk_bytes()?,
            stored,
        })
    }

    /// Opens the vault, waits until its journal is empty, does some work with it, and kills it.
    async fn open<T>(
        &mut self,
        cpu_ratio: impl AsyncFnOnce(&mut TestVault, &Vault) -> Result<T, BenchError>,
    ) -> Result<(T, OpeningCost), BenchError> {
        let before = self.bench_vault.folder.disk_usage_by_file();
        let (start, cpu_before) = (Instant::now(), process_cpu_time());
        let setup = self.bench_vault.folder.setup(self.store.clone())?;
        let (vault, running) = Vault::start(setup).await.map_err(BenchError::failed)?;
        let (seconds, cpu_used) =
            (start.elapsed().as_secs_f64(), (process_cpu_time() - cpu_before).as_secs_f64());
        let (database, places) = self.bench_vault.folder.disk_usage_by_file();
        let (database, places) = (database.since(&before.0).read, places.since(&before.1).read);
        let status = vault.status();
        let cpu_before = process_cpu_time();
        let baseline_seconds = self.bench_vault.folder.baseline_opening_seconds(database + places)?;
        let cpu_used = cpu_used / (process_cpu_time() - cpu_before).as_secs_f64();
        let opening = OpeningCost {
            seconds,
            baseline_seconds,
            cpu_ratio: cpu_used,
            database,
            places,
            journal: 0,
            parts: status.opening,
        };
        let mut running = Box::pin(running);
        let cpu_ratio = async {
            // An opening writes a checkpoint on its own.
            while vault.status().checkpoints.newest == status.checkpoints.newest {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            cpu_ratio(&mut *self, &vault).await
        };
        let done = tokio::select! {
            done = cpu_ratio => done,
            () = &mut running => Err(BenchError::failed(vault.failure().unwrap_or(VaultError::Closed))),
        };
        self.bench_vault.folder.kill();
        drop(running);
        Ok((done?, opening))
    }

    /// Fills the vault, brings it to its steady state, and measures accesses.
    async fn measure(
        &mut self,
        vault: &Vault,
        options: &GrowOptions,
        progress: &dyn Progress,
    ) -> Result<Measured, BenchError> {
        fill(vault, vault.capacity(), progress).await?;
        let settling = self.bench_vault.ring.stash_bound.into();
        self.access(vault, settling, progress, "settling").await?;
        let parameters = self.bench_vault.folder.parameters();
        let (every, shipments) = (parameters.checkpoint_every, parameters.recovery_point());
        let first = vault.status();
        // A checkpoint writes at least one piece.
        let cycle = first.checkpoints.pieces.max(1) * every;
        let window = (options.cycles * cycle).max(shipments).div_ceil(WINDOWS).next_multiple_of(every);
        let mut windows = Vec::new();
        for number in 1..=WINDOWS {
            windows
                .push(self.window(vault, window, progress, &format!("window {number} of {WINDOWS}")).await?);
        }
        let status = vault.status();
        let written = status.checkpoints.newest - first.checkpoints.newest;
        let cycles = written as f64 / status.checkpoints.pieces.max(1) as f64;
        let resident_memory = resident_memory().map_or(0, |resident_memory| resident_memory.now);
        let stash = (first.stash.at_rest, status.stash.at_rest);
        Ok(Measured { windows, cycles, stash, status, resident_memory })
    }
    async fn window(
        &mut self,
        vault: &Vault,
        accesses: u64,
        progress: &dyn Progress,
        what: &str,
    ) -> Result<Window, BenchError> {
        let usage = self.bench_vault.folder.disk_usage_by_file();
        let (before, start) = (vault.status(), Instant::now());
        self.access(vault, accesses, progress, what).await?;
        let (seconds, status) = (start.elapsed().as_secs_f64(), vault.status());
        let (database, places) = self.bench_vault.folder.disk_usage_by_file();
        Ok(Window {
            accesses: status.accesses - before.accesses,
            database: database.since(&usage.0),
            places: places.since(&usage.1),
            journal: status.journal_bytes - before.journal_bytes,
            checkpoints: status.checkpoints.by_kind - before.checkpoints.by_kind,
            seconds,
        })
    }

    /// Accesses this many blocks, in full batches.
    async fn access(
        &mut self,
        vault: &Vault,
        accesses: u64,
        progress: &dyn Progress,
        what: &str,
    ) -> Result<(), BenchError> {
        let batch = vault.max_batch();
        for done in (0..accesses).step_by(batch) {
            if done.is_multiple_of(64) {
                progress.on_step(what, done, accesses);
            }
            self.access_once(vault).await?;
        }
        Ok(())
    }

    /// Requests blocks until one batch more would lead to a checkpoint; returns the bytes of the journal at that point.
    async fn fill_the_journal(&mut self, vault: &Vault) -> Result<u64, BenchError> {
        let (batch, every) =
            (vault.max_batch() as u64, self.bench_vault.folder.parameters().checkpoint_every);
        while vault.status().checkpoints.accesses_since >= batch {
            self.access_once(vault).await?;
        }
        let before = vault.status().journal_bytes;
        while vault.status().checkpoints.accesses_since + 2 * batch <= every {
            self.access_once(vault).await?;
        }
        Ok(vault.status().journal_bytes - before)
    }

    async fn access_once(&mut self, vault: &Vault) -> Result<(), BenchError> {
        let calls = self.load.calls(vault.max_batch());
        vault.access(calls).await.map(drop).map_err(BenchError::failed)
    }
}
