//! Counts the bytes and requests of a vault over a folder, compared with the same blocks as plain files.
//!
//! Every block is written once. Then uniform accesses follow, half of them reads, until the bytes per access no
//! longer drift from one window of accesses to the next. A window is a whole number of rounds of evictions and of
//! shipped checkpoints. It ends when no eviction is pending. Files are synced, and so is the trusted disk.

use super::reference_figures;
use super::report::{Bound, Report, TrustedMemory, bytes};
use super::sample::Sample;
use super::service::{BenchVault, DiskUsage, UniformLoad, VaultOptions, fill};
use super::{BenchError, Progress};
use ameles_core::types::BlockId;
use ameles_store::{Blobs, Meter, MeterReader, Objects, OpenOptions, Usage};
use ameles_vault::{Call, Vault};
use std::path::Path;
use std::time::{Duration, Instant};

/// The share by which a window must differ less from the previous one, to be steady.
const MAX_DRIFT: f64 = 0.01;

/// The settings of the bench.
#[derive(Clone, Debug)]
pub struct FilesOptions {
    /// The vault.
    pub vault: VaultOptions,
    /// The number of accesses of one call. Each call is made when the previous one is answered.
    pub accesses_per_call: usize,
    /// The maximum number of windows.
    pub max_windows: usize,
    /// The bound on the bytes moved for each logical byte.
    pub goal_bytes: Option<f64>,
    /// The bound on the requests for each access.
    pub goal_requests: Option<f64>,
    /// The bound on the memory of the stash and the tree top, as a share of the payload. The default is the trusted
    /// share.
    pub goal_memory: Option<f64>,
    /// The reference figures of the documentation.
    pub reference: &'static [(&'static str, f64)],
}

impl FilesOptions {
    /// The vault of [`VaultOptions::standard`], one access at a time.
    pub fn standard() -> Self {
        FilesOptions {
            vault: VaultOptions::standard(),
            accesses_per_call: 1,
            max_windows: 6,
            goal_bytes: Some(16.0),
            goal_requests: Some(8.0),
            goal_memory: Some(0.133),
            reference: reference_figures::FILES,
        }
    }

    /// The default options with a quarter of the blocks trusted, on disk: few requests, and little memory.
    pub fn on_disk() -> Self {
        let standard = Self::standard();
        FilesOptions {
            vault: VaultOptions { trusted_blocks: 1024, on_disk: true, ..standard.vault },
            goal_bytes: None,
            goal_requests: Some(2.0),
            goal_memory: Some(0.05),
            reference: reference_figures::FILES_ON_DISK,
            ..standard
        }
    }
}

/// Runs the bench. Not to be called from within an asynchronous runtime.
///
/// # Errors
/// [`BenchError`].
pub fn run(options: &FilesOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    if options.accesses_per_call == 0 || options.accesses_per_call > options.vault.batch as usize {
        return Err(BenchError::Options("calls hold from one access up to the largest batch".into()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(BenchError::failed)?.block_on(measure(options, progress))
}

/// Opens a store in its own folder, with fsync on.
async fn open_folder(path: &Path) -> Result<Objects, BenchError> {
    let location =
        path.to_str().ok_or_else(|| BenchError::Options("the folder's name is not text".into()))?;
    let options = OpenOptions { create: true, ..OpenOptions::default() };
    Objects::open(location, &options).await.map_err(BenchError::failed)
}

async fn measure(options: &FilesOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    let bench_vault = BenchVault::new(&options.vault)?;
    let store = open_folder(&bench_vault.folder.path().join("untrusted")).await?;
    let store = Meter::new(store.with_layout(bench_vault.folder.parameters().layout()));
    let meter = store.reader();
    let vault = bench_vault.folder.create_and_open(store).await?;
    fill(&vault, options.vault.filled, progress).await?;
    let plain =
        PlainFiles::fill(open_folder(&bench_vault.folder.path().join("plain")).await?, options, progress)
            .await?;

    let round = u64::from(bench_vault.ring.eviction_rate) << bench_vault.ring.leaf_level.0;
    let accesses = round.next_multiple_of(bench_vault.folder.parameters().recovery_point());
    let mut load = UniformLoad::new(1, options.vault.filled, vault.block_bytes());
    let mut windows: Vec<Window> = Vec::new();
    while windows.len() < options.max_windows {
        let what = format!("accesses of window {}, of at most {}", windows.len() + 1, options.max_windows);
        let before = (meter.usage(), bench_vault.folder.disk_usage(), vault.status().accesses);
        let start = Instant::now();
        for done in (0..accesses).step_by(options.accesses_per_call) {
            if done.is_multiple_of(64) {
                progress.on_step(&what, done, accesses);
            }
            let calls = load.calls(options.accesses_per_call.min((accesses - done) as usize));
            vault.access(calls).await.map_err(BenchError::failed)?;
        }
        settle(&vault, &meter).await;
        windows.push(Window {
            accesses: vault.status().accesses - before.2,
            store: meter.usage().since(&before.0),
            disk: bench_vault.folder.disk_usage().since(&before.1),
            seconds: start.elapsed().as_secs_f64(),
            plain_seconds: plain.time(&mut load, accesses.min(512)).await?,
        });
        if drift(&windows, options).is_some_and(|drift| drift.abs() < MAX_DRIFT) {
            break;
        }
    }

    let status = vault.status();
    let trusted = bench_vault.trusted(&status);
    let VaultOptions { capacity, block_bytes, filled, trusted_blocks, .. } = options.vault;
    let mut report = Report::new(format!(
        "files: a vault of {capacity} blocks of {}, fsync on",
        bytes(block_bytes.into())
    ));
    bench_vault.describe(&mut report);
    report.set(
        "load",
        format!("{} at a time, half of them reads, uniform over {filled} blocks", options.accesses_per_call),
    );
    report.set("window", format!("{accesses} accesses, until no evictions are pending and nothing moves"));
    let drift = drift(&windows, options).unwrap_or(f64::NAN);
    let count = windows.len();
    report
        .set("drift", format!("{:+.2} % from the window before to the last, number {count}", 100.0 * drift));
    report.set("emergency evictions", status.emergencies);
    report_windows(&mut report, &windows, options, trusted);
    let payload = (capacity * u64::from(block_bytes)) as f64;
    let stash = Sample::once(trusted.stash_and_top as f64 / payload);
    let share = options.goal_memory.unwrap_or(trusted_blocks as f64 / capacity as f64);
    let share = Bound::AtMost(share);
    report.row("stash and tree top, peak", "× payload", stash, Some(share), Some(trusted));
    let stored = Sample::once(meter.usage().max_stored_bytes as f64 / payload);
    report.row("stored, peak", "× payload", stored, None, Some(trusted));
    report.hold(options.reference)?;
    vault.close().await.map_err(BenchError::failed)?;
    Ok(report)
}

/// Waits until no eviction is pending and nothing moves.
async fn settle(vault: &Vault, meter: &MeterReader) {
    let mut idle_polls = 0;
    let mut last = meter.usage();
    while idle_polls < 5 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = meter.usage();
        idle_polls = if now == last && vault.status().evictions_pending == 0 { idle_polls + 1 } else { 0 };
        last = now;
    }
}

/// The cost of a run of accesses.
struct Window {
    accesses: u64,
    store: Usage,
    disk: DiskUsage,
    seconds: f64,
    /// The number of seconds for one access to plain files.
    plain_seconds: f64,
}

impl Window {
    fn bytes_per_byte(&self, options: &FilesOptions) -> f64 {
        let store = self.store.bytes_up + self.store.bytes_down;
        let disk = self.disk.written + self.disk.read;
        (store + disk) as f64 / (self.accesses * u64::from(options.vault.block_bytes)) as f64
    }
}

/// The difference of the last window from the previous one, as a share.
fn drift(windows: &[Window], options: &FilesOptions) -> Option<f64> {
    let [.., before, last] = windows else { return None };
    Some(last.bytes_per_byte(options) / before.bytes_per_byte(options) - 1.0)
}

fn report_windows(report: &mut Report, windows: &[Window], options: &FilesOptions, trusted: TrustedMemory) {
    let last = windows.last().expect("there is at least one window");
    let trusted = Some(trusted);
    let logical = (last.accesses * u64::from(options.vault.block_bytes)) as f64;
    let per_byte = |bytes: u64| Sample::once(bytes as f64 / logical);
    let per_access = |count: u64| Sample::once(count as f64 / last.accesses as f64);
    let unit = "bytes/logical byte";
    let all = Sample::once(last.bytes_per_byte(options));
    report.row("bytes moved, all", unit, all, options.goal_bytes.map(Bound::AtMost), trusted);
    let store = per_byte(last.store.bytes_up + last.store.bytes_down);
    report.row("  store", unit, store, None, trusted);
    report.row("  store, up", unit, per_byte(last.store.bytes_up), None, trusted);
    report.row("  store, down", unit, per_byte(last.store.bytes_down), None, trusted);
    report.row("  trusted disk, written", unit, per_byte(last.disk.written), None, trusted);
    report.row("  trusted disk, read", unit, per_byte(last.disk.read), None, trusted);
    let unit = "requests/access";
    let requests = per_access(last.store.requests());
    report.row("requests, all", unit, requests, options.goal_requests.map(Bound::AtMost), trusted);
    report.row("  ranges read", unit, per_access(last.store.slot_reads), None, trusted);
    report.row("  buckets written", unit, per_access(last.store.bucket_writes), None, trusted);
    report.row("  buckets deleted", unit, per_access(last.store.bucket_deletes), None, trusted);
    let others = last.store.blob_reads + last.store.blob_writes + last.store.blob_deletes + last.store.lists;
    report.row("  checkpoints and lists", unit, per_access(others), None, trusted);
    report.row("syncs of the trusted disk", "syncs/access", per_access(last.disk.syncs), None, trusted);
    report.row("plain files: bytes moved", "bytes/logical byte", Sample::once(1.0), None, None);
    report.row("plain files: requests", "requests/access", Sample::once(1.0), None, None);
    let of = |value: fn(&Window) -> f64| Sample::of(windows.iter().map(value));
    let rate = |window: &Window| window.accesses as f64 / window.seconds;
    report.row("vault", "accesses/s", of(rate), None, trusted);
    report.row("plain files", "accesses/s", of(|window| 1.0 / window.plain_seconds), None, None);
    let slower = |window: &Window| window.seconds / window.accesses as f64 / window.plain_seconds;
    report.row("vault against plain files", "× slower", of(slower), None, trusted);
}

/// A baseline that keeps each block in a file.
struct PlainFiles {
    store: Objects,
    block: Vec<u8>,
}

impl PlainFiles {
    async fn fill(
        store: Objects,
        options: &FilesOptions,
        progress: &dyn Progress,
    ) -> Result<Self, BenchError> {
        let plain = PlainFiles { store, block: vec![7; options.vault.block_bytes as usize] };
        for block in 0..options.vault.filled {
            if block.is_multiple_of(64) {
                progress.on_step("filling plain files", block, options.vault.filled);
            }
            plain.store.put(&name(BlockId(block)), &plain.block).await.map_err(BenchError::failed)?;
        }
        Ok(plain)
    }

    /// Seconds for one access, over some.
    async fn time(&self, load: &mut UniformLoad, accesses: u64) -> Result<f64, BenchError> {
        let start = Instant::now();
        for _ in 0..accesses {
            match load.call() {
                Call::Write(block, bytes) => {
                    self.store.put(&name(block), &bytes).await.map_err(BenchError::failed)?
                }
                Call::Read(block) => {
                    self.store.get(&name(block), self.block.len()).await.map_err(BenchError::failed)?;
                }
                Call::Dummy => {}
            }
        }
        Ok(start.elapsed().as_secs_f64() / accesses as f64)
    }
}

fn name(block: BlockId) -> String {
    format!("{:03x}/{:03x}", block.0 >> 12, block.0 & 0xfff)
}
