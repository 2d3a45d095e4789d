//! Compares a vault behind a link with plain objects behind the same link. Measures the throughput of many clients
//! together, and the latency of a single one.
//!
//! The store is in memory, so that the link is the slow part. The trusted disk is real and synced. Every block is
//! written and a round of evictions is done before the link is inserted.

use super::report::{Bound, Report, bytes};
use super::sample::Sample;
use super::service::{BenchVault, UniformLoad, VaultOptions};
use super::{BenchError, Progress};
use ameles_store::{BitsPerSecond, Blobs, Link, LinkSpeed, VersionedMemory};
use ameles_vault::Vault;
use futures::future::try_join_all;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// A link of 23.6 ms and 510 Mbit/s each way.
pub(super) const SPEED: LinkSpeed = LinkSpeed {
    round_trip: Duration::from_micros(23_600),
    up: BitsPerSecond::mega(510),
    down: BitsPerSecond::mega(510),
};

/// The settings of the bench.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// The vault.
    pub vault: VaultOptions,
    /// The link.
    pub speed: LinkSpeed,
    /// The number of clients of the throughput figure, each with one access at a time.
    pub clients: usize,
    /// The number of times that throughput and latency are measured, in turns.
    pub repetitions: usize,
    /// The time that the clients are measured each time.
    pub time: Duration,
    /// The number of reads of the lone client each time, one right after the other.
    pub reads: usize,
    /// The bound on the throughput, in parts of a sixteenth of the link.
    pub goal_share: Option<f64>,
    /// The bound on a lone read, in multiples of the same read with no ORAM.
    pub goal_latency: Option<f64>,
}

impl LinkOptions {
    /// The vault of [`VaultOptions::standard`] behind 23.6 ms and 510 Mbit/s each way; 16 clients.
    pub fn standard() -> Self {
        LinkOptions {
            vault: VaultOptions::standard(),
            speed: SPEED,
            clients: 16,
            repetitions: 5,
            time: Duration::from_secs(10),
            reads: 70,
            goal_share: Some(0.7),
            goal_latency: Some(1.5),
        }
    }
}

/// The divisor of the link for the goal of throughput: a logical byte costs this many bytes on the link.
const LINK_SHARE: f64 = 16.0;

/// Runs the bench. Not to be called from within an asynchronous runtime.
///
/// # Errors
/// [`BenchError`].
pub fn run(options: &LinkOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    if options.clients == 0 || options.repetitions == 0 || options.reads == 0 || options.time.is_zero() {
        return Err(BenchError::Options(
            "give at least one client, one read, one repetition of some length".into(),
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(BenchError::failed)?.block_on(measure(options, progress))
}

/// The measurements of each repetition.
#[derive(Default)]
struct Measured {
    vault_megabits: Vec<f64>,
    plain_megabits: Vec<f64>,
    vault_read: Vec<f64>,
    plain_read: Vec<f64>,
    sync: Vec<f64>,
}

async fn measure(options: &LinkOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    let bench_vault = BenchVault::new(&options.vault)?;
    let memory = VersionedMemory::new(bench_vault.folder.parameters().layout());
    let filled = options.vault.filled;
    let mut load = UniformLoad::new(1, filled, options.vault.block_bytes as usize);
    bench_vault.warm_up(&memory, &mut load, progress).await?;

    let vault = bench_vault.folder.open(Link::new(memory, options.speed).precise()).await?;
    let plain = PlainObject::new(options).await?;
    let mut measured = Measured::default();
    for repetition in 0..options.repetitions {
        progress.on_step("measuring", repetition as u64, options.repetitions as u64);
        measured.vault_megabits.push(throughput_of_vault(&vault, options, repetition as u64).await?);
        measured.plain_megabits.push(plain.throughput(options).await?);
        for _ in 0..options.reads {
            let start = Instant::now();
            vault.read(load.block()).await.map_err(BenchError::failed)?;
            measured.vault_read.push(milliseconds(start.elapsed()));
        }
        for _ in 0..options.reads {
            let start = Instant::now();
            plain.read().await?;
            measured.plain_read.push(milliseconds(start.elapsed()));
        }
        measured.sync.push(sync_time(bench_vault.folder.path())?);
    }
    let report = report(options, &bench_vault, &vault, &measured);
    vault.close().await.map_err(BenchError::failed)?;
    Ok(report)
}

/// Megabits per second of the blocks that the clients read and write. The measurement ends when no eviction is
/// pending.
async fn throughput_of_vault(vault: &Vault, options: &LinkOptions, nth: u64) -> Result<f64, BenchError> {
    let start = Instant::now();
    let client = |client: u64| async move {
        let seed = 1000 * (nth + 1) + client;
        let mut load = UniformLoad::new(seed, options.vault.filled, vault.block_bytes());
        let mut accesses = 0u64;
        while start.elapsed() < options.time {
            vault.access(load.calls(1)).await.map_err(BenchError::failed)?;
            accesses += 1;
        }
        Ok::<u64, BenchError>(accesses)
    };
    let accesses: u64 = try_join_all((0..options.clients as u64).map(client)).await?.iter().sum();
    while vault.status().evictions_pending > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(megabits(accesses, options, start.elapsed()))
}

fn megabits(accesses: u64, options: &LinkOptions, time: Duration) -> f64 {
    (accesses * u64::from(options.vault.block_bytes) * 8) as f64 / time.as_secs_f64() / 1e6
}

fn milliseconds(time: Duration) -> f64 {
    1000.0 * time.as_secs_f64()
}

/// An object with the length of a block behind its own link, as fast as the link of the vault.
struct PlainObject {
    link: Link<VersionedMemory>,
    block: Vec<u8>,
}

const NAME: &str = "plain";

impl PlainObject {
    async fn new(options: &LinkOptions) -> Result<Self, BenchError> {
        let link = Link::new(VersionedMemory::new(Default::default()), options.speed).precise();
        let block = vec![7; options.vault.block_bytes as usize];
        link.put(NAME, &block).await.map_err(BenchError::failed)?;
        Ok(PlainObject { link, block })
    }

    async fn read(&self) -> Result<(), BenchError> {
        let found = self.link.get(NAME, self.block.len()).await.map_err(BenchError::failed)?;
        found.map(drop).ok_or_else(|| BenchError::failed("the plain object is gone"))
    }

    /// Megabits that the clients read and write in a second.
    async fn throughput(&self, options: &LinkOptions) -> Result<f64, BenchError> {
        let start = Instant::now();
        let time = options.time / 4;
        let client = |client: usize| async move {
            let mut accesses = 0u64;
            while start.elapsed() < time {
                if (accesses as usize + client).is_multiple_of(2) {
                    self.read().await?;
                } else {
                    self.link.put(NAME, &self.block).await.map_err(BenchError::failed)?;
                }
                accesses += 1;
            }
            Ok::<u64, BenchError>(accesses)
        };
        let accesses: u64 = try_join_all((0..options.clients).map(client)).await?.iter().sum();
        Ok(megabits(accesses, options, start.elapsed()))
    }
}

/// Milliseconds until a small write to the trusted disk is durable: the median of some.
fn sync_time(folder: &Path) -> Result<f64, BenchError> {
    let mut file = File::create(folder.join("sync")).map_err(BenchError::failed)?;
    let mut times = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        file.write_all(&[7; 4096]).and_then(|()| file.sync_data()).map_err(BenchError::failed)?;
        times.push(milliseconds(start.elapsed()));
    }
    Ok(Sample::of(&times).median)
}

fn report(options: &LinkOptions, bench_vault: &BenchVault, vault: &Vault, measured: &Measured) -> Report {
    let LinkSpeed { round_trip, up, down } = options.speed;
    let mut report = Report::new(format!(
        "link: a vault of {} blocks of {} behind {:.1} ms, {} Mbit/s up and {} down",
        options.vault.capacity,
        bytes(options.vault.block_bytes.into()),
        milliseconds(round_trip),
        up.0 / 1_000_000,
        down.0 / 1_000_000
    ));
    bench_vault.describe(&mut report);
    report.set(
        "load",
        format!("half of the clients' accesses are reads, uniform over {} blocks", options.vault.filled),
    );
    let status = vault.status();
    report.set("emergency evictions", status.emergencies);
    let trusted = Some(bench_vault.trusted(&status));
    let clients = options.clients;
    let of = |values: &[f64]| Sample::of(values);
    let sixteenth = down.0.min(up.0) as f64 / 1e6 / LINK_SHARE;
    let shares: Vec<f64> = measured.vault_megabits.iter().map(|megabits| megabits / sixteenth).collect();
    let unit = "Mbit/s";
    report.row(format!("{clients} clients, vault"), unit, of(&measured.vault_megabits), None, trusted);
    let goal = options.goal_share.map(Bound::AtLeast);
    report.row("  against a sixteenth of the link", "×", of(&shares), goal, trusted);
    report.row(format!("{clients} clients, plain objects"), unit, of(&measured.plain_megabits), None, None);
    let (vault_read, plain_read) = (of(&measured.vault_read), of(&measured.plain_read));
    report.row("a lone read, vault", "ms", vault_read, None, trusted);
    report.row("a lone read, plain object", "ms", plain_read, None, None);
    let slow = |values: &[f64]| Sample::once(Sample::quantile(values, 0.95));
    report.row("a lone read, vault, 95 of 100", "ms", slow(&measured.vault_read), None, trusted);
    report.row("a lone read, plain object, 95 of 100", "ms", slow(&measured.plain_read), None, None);
    let ratio = Sample::once(vault_read.median / plain_read.median);
    let goal = options.goal_latency.map(Bound::AtMost);
    report.row("  median against median", "×", ratio, goal, trusted);
    report.row("a sync of the trusted disk", "ms", of(&measured.sync), None, None);
    report.notes.push(
        "a lone read waits for one sync of the trusted disk: it is announced in the journal first".into(),
    );
    report
}
