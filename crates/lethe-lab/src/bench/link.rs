//! A vault behind a link: what sixteen clients get through it, and how long a lone client waits.

use super::report::{Bound, Report, TrustedMemory};
use super::sample::Sample;
use super::service::{Trusted, Uniform, VaultOptions, fill};
use super::{BenchError, Progress};
use lethe_store::{BitsPerSecond, Blobs, Link, LinkSpeed, VersionedMemory};
use std::time::{Duration, Instant};

/// How the bench is run.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// The vault.
    pub vault: VaultOptions,
    /// The link.
    pub speed: LinkSpeed,
    /// Clients of the throughput figure.
    pub clients: usize,
    /// How long they are measured, after half of it to get going.
    pub time: Duration,
    /// Reads of the lone client, and of the bare baseline, taken in turns.
    pub reads: usize,
}

impl LinkOptions {
    /// The standard vault behind 23.6 ms and 510 Mbit/s each way; 16 clients for 40 seconds; 300 lone reads.
    pub fn standard() -> Self {
        let speed = LinkSpeed {
            round_trip: Duration::from_micros(23_600),
            up: BitsPerSecond(510_000_000),
            down: BitsPerSecond(510_000_000),
        };
        LinkOptions {
            vault: VaultOptions::standard(),
            speed,
            clients: 16,
            time: Duration::from_secs(40),
            reads: 300,
        }
    }
}

/// Runs the bench.
///
/// # Errors
/// The temporary folder cannot be used, or the vault fails.
pub fn run(options: &LinkOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(BenchError::failed)?;
    runtime.block_on(measure(options, progress))
}

async fn measure(options: &LinkOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::failed)?;
    let parameters = options.vault.parameters();
    let memory = VersionedMemory::new(parameters.layout());
    let trusted = Trusted::new(folder.path())?;
    trusted.make(memory.clone(), parameters.clone()).await?;
    // Filled without the link: it is the steady state that is measured.
    let vault = trusted.open(memory.clone()).await?;
    fill(&vault, options.vault.filled, progress).await?;
    let mut calls = Uniform::new(3, options.vault.filled, vault.block_bytes());
    for _ in 0..options.vault.filled / vault.max_batch() as u64 {
        vault.access(calls.batch(vault.max_batch())).await.map_err(BenchError::failed)?;
    }
    vault.close().await.map_err(BenchError::failed)?;

    let vault = trusted.open(Link::new(memory.clone(), options.speed).precise()).await?;
    let bare = Link::new(memory, options.speed).precise();
    let block = vec![5; options.vault.block_bytes as usize];
    bare.put("bare", &block).await.map_err(BenchError::failed)?;
    let (mut lone, mut plain) = (Vec::new(), Vec::new());
    for nth in 0..options.reads {
        let start = Instant::now();
        vault.read(calls.block()).await.map_err(BenchError::failed)?;
        lone.push(start.elapsed().as_secs_f64() * 1000.0);
        let start = Instant::now();
        bare.get("bare", block.len()).await.map_err(BenchError::failed)?;
        plain.push(start.elapsed().as_secs_f64() * 1000.0);
        progress.at("lone reads", nth as u64 + 1, options.reads as u64);
    }

    let per_client = |seed: u64, time: Duration| {
        let (vault, filled) = (vault.clone(), options.vault.filled);
        async move {
            let mut calls = Uniform::new(100 + seed, filled, vault.block_bytes());
            let start = Instant::now();
            let mut done = 0u64;
            while start.elapsed() < time {
                vault.access(vec![calls.call()]).await.map_err(BenchError::failed)?;
                done += 1;
            }
            Ok::<u64, BenchError>(done)
        }
    };
    let clients = options.clients as u64;
    let warm = (0..clients).map(|nth| per_client(nth, options.time / 2));
    futures::future::try_join_all(warm).await?;
    let mut rates = Vec::new();
    for round in 0..4u64 {
        progress.at("sixteen clients", round, 4);
        let start = Instant::now();
        let running = (0..clients).map(|nth| per_client(1000 * (round + 1) + nth, options.time / 4));
        let done: u64 = futures::future::try_join_all(running).await?.iter().sum();
        rates.push(done as f64 * block.len() as f64 * 8.0 / start.elapsed().as_secs_f64() / 1e6);
    }
    progress.at("sixteen clients", 4, 4);
    let status = vault.status();
    vault.close().await.map_err(BenchError::failed)?;

    let mut report = Report::new("link: a vault behind 23.6 ms and 510 Mbit/s each way");
    report.set("scheme", format!("{:?}", parameters.scheme));
    report.set("position map", "flat");
    report.set("cipher", "AES-256-GCM");
    report.set("clients", options.clients);
    let layout = parameters.scheme.layout();
    let trusted = Some(TrustedMemory {
        stash_and_top: status.stash_peak * u64::from(options.vault.block_bytes),
        position_map: 4 * options.vault.capacity,
        metadata: 4 * layout.slots() + 5 * layout.buckets(),
        versions: 12 * layout.buckets(),
    });
    let sixteenth = options.speed.down.0 as f64 / 1e6 / 16.0;
    let rate = Sample::of(&rates);
    report.row("logical throughput", "Mbit/s", rate, None, trusted);
    let share = Sample::of(&rates.iter().map(|rate| rate / sixteenth).collect::<Vec<_>>());
    report.row("  of link / 16", "share", share, Some(Bound::AtLeast(0.7)), trusted);
    let (lone, plain) = (Sample::of(&lone), Sample::of(&plain));
    report.row("a lone read of one block", "ms", lone, None, trusted);
    report.row("bare: the same read with no ORAM", "ms", plain, None, None);
    let ratio = Sample::once(lone.median / plain.median);
    report.row("  lone read, of the bare one", "times", ratio, Some(Bound::AtMost(1.5)), trusted);
    report.notes.push(format!("evictions owed at the end: {}", status.evictions_owed));
    Ok(report)
}
