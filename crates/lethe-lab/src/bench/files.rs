//! Bytes moved and requests made by a vault over files, in steady state, with everything counted: buckets, shipped
//! checkpoints, deletions, lists, and on the trusted disk journal and checkpoints.

use super::report::{Bound, Report, TrustedMemory};
use super::sample::Sample;
use super::service::{Trusted, Uniform, VaultOptions, fill};
use super::{BenchError, Progress};
use lethe_store::{Blobs, Meter, Objects, OpenOptions, Usage};
use lethe_vault::{SchemeParameters, Status, Vault, VaultParameters};
use std::path::Path;

/// How the bench is run.
#[derive(Clone, Debug)]
pub struct FilesOptions {
    /// The vault.
    pub vault: VaultOptions,
    /// Shipped checkpoints in each measured window.
    pub checkpoints: u64,
    /// Windows that are measured, after those that are run until the figure no longer drifts.
    pub windows: usize,
}

impl FilesOptions {
    /// The vault of [`VaultOptions::standard`], three windows of two shipped checkpoints each.
    pub fn standard() -> Self {
        FilesOptions { vault: VaultOptions::standard(), checkpoints: 2, windows: 3 }
    }
}

/// A window that differs from the one before it by less than this is steady.
const STEADY: f64 = 0.02;
/// Windows after which the bench goes on even if the figure still drifts, and says so.
const MOST_WARMING: usize = 6;

#[derive(Clone, Copy)]
struct Window {
    /// Per access: payload bytes to and from the store, in blocks.
    moved: f64,
    /// Per access: bytes written to the trusted disk, in blocks.
    local: f64,
    requests: f64,
    stash_peak: u64,
}

/// Runs the bench.
///
/// # Errors
/// The temporary folder cannot be used, or the vault fails.
pub fn run(options: &FilesOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(BenchError::failed)?;
    runtime.block_on(measure(options, progress))
}

async fn measure(options: &FilesOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::failed)?;
    let parameters = options.vault.parameters();
    let objects = open(&folder.path().join("untrusted")).await?;
    let trusted = Trusted::new(folder.path())?;
    trusted.make(objects.with_layout(parameters.layout()), parameters.clone()).await?;
    let meter = Meter::new(objects.with_layout(parameters.layout()));
    let reader = meter.reader();
    let vault = trusted.open(meter).await?;
    fill(&vault, options.vault.filled, progress).await?;

    let accesses = parameters.recovery_point() * options.checkpoints;
    let mut calls = Uniform::new(1, options.vault.filled, vault.block_bytes());
    let mut windows: Vec<Window> = Vec::new();
    let mut warming = 0;
    let mut drift = f64::INFINITY;
    while windows.len() < options.windows {
        let before = (reader.usage(), vault.status());
        let batch = vault.max_batch();
        for done in (0..accesses).step_by(batch) {
            vault.access(calls.batch(batch)).await.map_err(BenchError::failed)?;
            progress.at("accesses", (done + batch as u64).min(accesses), accesses);
        }
        let window = settle(&vault, &parameters, before, || reader.usage());
        if drift > STEADY && warming < MOST_WARMING {
            warming += 1;
            if let Some(last) = windows.pop() {
                drift = (window.moved / last.moved - 1.0).abs();
            }
        }
        windows.push(window);
    }
    let status = vault.status();
    vault.close().await.map_err(BenchError::failed)?;
    let bare = bare(&objects, &options.vault).await?;
    Ok(report(options, &parameters, &windows, drift, &status, &reader.usage(), bare))
}

async fn open(folder: &Path) -> Result<Objects, BenchError> {
    let options = OpenOptions { create: true, ..OpenOptions::default() };
    Objects::open(&folder.display().to_string(), &options).await.map_err(BenchError::failed)
}

/// What a window cost, with the evictions that it still owes.
fn settle(
    vault: &Vault,
    parameters: &VaultParameters,
    (usage, status): (Usage, Status),
    now: impl Fn() -> Usage,
) -> Window {
    let after = vault.status();
    let moved = now().since(&usage);
    let accesses = (after.accesses - status.accesses) as f64;
    let block = f64::from(parameters.scheme.block_bytes());
    let owed = after.evictions_owed as f64 - status.evictions_owed as f64;
    let SchemeParameters::Ring(ring) = &parameters.scheme else { unreachable!("the bench runs Ring ORAM") };
    let levels = f64::from(ring.leaf_level - ring.top);
    let path = levels * f64::from(ring.inner.blocks + ring.inner.slots)
        + f64::from(ring.leaf.blocks + ring.leaf.slots);
    let local =
        (after.journal_bytes - status.journal_bytes) + (after.checkpoint_bytes - status.checkpoint_bytes);
    Window {
        moved: ((moved.bytes_up + moved.bytes_down) as f64 / block + owed * path) / accesses,
        local: local as f64 / block / accesses,
        requests: moved.requests() as f64 / accesses,
        stash_peak: after.stash_peak,
    }
}

/// The same blocks as plain objects: bytes and requests for each access.
async fn bare(objects: &Objects, options: &VaultOptions) -> Result<(f64, f64), BenchError> {
    let meter = Meter::new(objects.with_layout(options.parameters().layout()));
    let reader = meter.reader();
    let block = vec![7; options.block_bytes as usize];
    let count = 64;
    for nth in 0..count {
        let name = format!("bare/{nth}");
        if nth % 2 == 0 {
            meter.put(&name, &block).await.map_err(BenchError::failed)?;
        } else {
            let before = format!("bare/{}", nth - 1);
            meter.get(&before, block.len()).await.map_err(BenchError::failed)?;
        }
    }
    let usage = reader.usage();
    let moved = (usage.bytes_up + usage.bytes_down) as f64 / block.len() as f64 / f64::from(count);
    Ok((moved, usage.requests() as f64 / f64::from(count)))
}

fn report(
    options: &FilesOptions,
    parameters: &VaultParameters,
    windows: &[Window],
    drift: f64,
    status: &Status,
    usage: &Usage,
    bare: (f64, f64),
) -> Report {
    let mut report = Report::new("files: a vault over a folder, fsync on");
    let VaultOptions { capacity, block_bytes, filled, .. } = options.vault;
    report.set("blocks", format!("{capacity} of {block_bytes} B, {filled} filled"));
    report.set("scheme", format!("{:?}", parameters.scheme));
    report.set("position map", "flat");
    report.set("cipher", "AES-256-GCM");
    report.set("accesses in a window", parameters.recovery_point() * options.checkpoints);
    let of = |figure: fn(&Window) -> f64| Sample::of(&windows.iter().map(figure).collect::<Vec<_>>());
    let stash = windows.iter().map(|window| window.stash_peak).max().unwrap_or(0);
    let layout = parameters.scheme.layout();
    let trusted = Some(TrustedMemory {
        stash_and_top: stash * u64::from(block_bytes),
        position_map: 4 * capacity,
        metadata: 4 * layout.slots() + 5 * layout.buckets(),
        versions: 12 * layout.buckets(),
    });
    let total = of(|window| window.moved + window.local);
    report.row(
        "moved, journal and checkpoints included",
        "bytes/byte",
        total,
        Some(Bound::AtMost(16.0)),
        trusted,
    );
    report.row(
        "  to and from the store, shipped checkpoints included",
        "bytes/byte",
        of(|w| w.moved),
        None,
        None,
    );
    report.row("  to the trusted disk: journal and checkpoints", "bytes/byte", of(|w| w.local), None, None);
    report.row(
        "requests, deletes and lists included",
        "per access",
        of(|w| w.requests),
        Some(Bound::AtMost(8.0)),
        trusted,
    );
    report.row("bare: the same blocks as plain objects", "bytes/byte", Sample::once(bare.0), None, None);
    report.row("bare: requests", "per access", Sample::once(bare.1), None, None);
    let payload = (capacity * u64::from(block_bytes)) as f64;
    let share = (stash * u64::from(block_bytes)) as f64 / payload;
    report.row(
        "stash and tree top at their peak, of the payload",
        "share",
        Sample::once(share),
        Some(Bound::AtMost(0.125)),
        None,
    );
    let stored = usage.most_stored_bytes as f64 / payload;
    report.row("stored at most, of the payload", "times", Sample::once(stored), None, None);
    report.notes.push(format!("the last two windows before measuring differed by {:.1} %", 100.0 * drift));
    report
        .notes
        .push(format!("emergency evictions: {}; evictions still owed are counted", status.emergencies));
    report
}
