//! The gateway over a link, beside the same server with the ORAM off.
//!
//! Real HTTP over loopback, in real time: clients of S3 (`object_store`), the gateway's own server, and below it either
//! a vault or a `plain` device, each behind a link of its own. The store beneath is memory, so that the link is what
//! is slow; the trusted disk is a real one, and synced.

mod cell;
mod options;
mod plain;

use super::report::{Bound, Grid, Report, TrustedMemory, bytes};
use super::sample::Sample;
use super::service::{Uniform, VaultFolder, fill};
use super::{BenchError, Progress};
use ameles_gateway::auth::identity::{AccessKey, User, Users};
use ameles_gateway::catalogue::ContainerSettings;
use ameles_gateway::http::loopback::Loopback;
use ameles_gateway::http::server;
use ameles_gateway::{AnyDevice, Device, FIRST_ACCOUNT, Gateway, Options, serve_s3};
use ameles_store::{Link, LinkSpeed, VersionedMemory};
use ameles_vault::Vault;
use cell::{Cell, Measured, Verb};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ClientOptions, RetryConfig};
pub use options::GatewayOptions;
use plain::PlainDevice;
use std::sync::Arc;

/// The link is shared among this many where its share is asked for: a logical byte costs that many on the way.
const SHARE: f64 = 16.0;
const BUCKET: &str = "bench";

/// Runs the bench. `device` makes the gateway's device of a vault. Not to be called from within an asynchronous
/// runtime.
///
/// # Errors
/// [`BenchError`].
pub fn run<D: Device>(
    options: &GatewayOptions,
    device: impl Fn(Vault) -> D,
    progress: &dyn Progress,
) -> Result<Report, BenchError> {
    options.check()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(BenchError::failed)?.block_on(measure(
        options,
        &|vault| AnyDevice::new(device(vault)),
        progress,
    ))
}

/// A gateway that serves S3 on loopback.
struct Serving {
    gateway: Gateway,
    server: Loopback,
}

impl Serving {
    async fn start(device: AnyDevice) -> Result<Self, BenchError> {
        let gateway = Gateway::open(device, Options::default()).await.map_err(BenchError::failed)?;
        let account = gateway.account(FIRST_ACCOUNT);
        let made = account.create_container(BUCKET, ContainerSettings::default()).await;
        made.map_err(BenchError::failed)?;
        let users = Users::new(vec![User::first(AccessKey::new("access", "secret"))]);
        let users = users.map_err(BenchError::failed)?;
        let (served, users) = (gateway.clone(), Arc::new(users));
        let server =
            Loopback::run(|listener, end| serve_s3(listener, served, users, server::Options::default(), end));
        Ok(Serving { gateway, server: server.await.map_err(BenchError::failed)? })
    }

    fn client(&self) -> Result<AmazonS3, BenchError> {
        ameles_store::encrypt_with_ring();
        AmazonS3Builder::new()
            .with_endpoint(format!("http://{}", self.server.address()))
            .with_allow_http(true)
            .with_bucket_name(BUCKET)
            .with_access_key_id("access")
            .with_secret_access_key("secret")
            .with_client_options(ClientOptions::new().with_allow_http(true).with_timeout_disabled())
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() })
            .build()
            .map_err(BenchError::failed)
    }

    async fn stop(self) {
        let _ = self.server.end().await;
        self.gateway.settle().await;
    }
}

async fn measure(
    options: &GatewayOptions,
    device: &dyn Fn(Vault) -> AnyDevice,
    progress: &dyn Progress,
) -> Result<Report, BenchError> {
    let home = VaultFolder::new(&options.vault)?;
    let memory = VersionedMemory::new(home.parameters().layout());
    warm_up(home.create(memory.clone()).await?, &home, options, progress).await?;
    let vault = home.open(Link::new(memory, options.speed).precise()).await?;
    let with = Serving::start(device(vault.clone())).await?;
    let bare = PlainDevice::new(&options.vault, options.speed, home.path())?;
    let bare = Serving::start(AnyDevice::new(bare)).await?;
    let (with_client, bare_client) = (with.client()?, bare.client()?);

    let mut found = Vec::new();
    let cells = cells(options);
    for (nth, cell) in cells.iter().enumerate() {
        progress.at(&cell.name(), nth as u64, cells.len() as u64);
        let bare = cell.measure(&bare_client, options, None).await?;
        let with = cell.measure(&with_client, options, Some(&vault)).await?;
        progress.found(&format!("{}: {with}; bare {bare}", cell.name()));
        found.push((*cell, with, bare));
    }
    let report = report(options, &home, &vault, &found);
    with.stop().await;
    bare.stop().await;
    vault.close().await.map_err(BenchError::failed)?;
    Ok(report)
}

fn cells(options: &GatewayOptions) -> Vec<Cell> {
    let mut cells = Vec::new();
    for verb in [Verb::Put, Verb::Get] {
        for &size in &options.sizes {
            cells.extend(options.clients.iter().map(|&clients| Cell { verb, size, clients }));
        }
    }
    cells
}

/// Fills the vault and lets every path be evicted once, with no link before the store.
async fn warm_up(
    vault: Vault,
    home: &VaultFolder,
    options: &GatewayOptions,
    progress: &dyn Progress,
) -> Result<(), BenchError> {
    fill(&vault, options.vault.filled, progress).await?;
    let round = u64::from(home.ring.eviction_rate) << home.ring.leaf_level.0;
    let batch = vault.max_batch();
    let mut load = Uniform::new(1, options.vault.filled, vault.block_bytes());
    for done in (0..round).step_by(batch) {
        progress.at("warming up", done, round);
        vault.access(load.calls(batch)).await.map_err(BenchError::failed)?;
    }
    vault.close().await.map_err(BenchError::failed)?;
    Ok(())
}

fn report(
    options: &GatewayOptions,
    home: &VaultFolder,
    vault: &Vault,
    found: &[(Cell, Measured, Measured)],
) -> Report {
    let LinkSpeed { round_trip, up, down } = options.speed;
    let mut report = Report::new(format!(
        "gateway: a vault of {} blocks of {} behind {:.1} ms, {} Mbit/s up and {} down; real HTTP, real time",
        options.vault.capacity,
        bytes(options.vault.block_bytes.into()),
        1000.0 * round_trip.as_secs_f64(),
        up.0 / 1_000_000,
        down.0 / 1_000_000
    ));
    home.describe(&mut report);
    report.set("clients", "each has one request after the other, on objects of its own as far as they fit");
    report.set("bare", "the same server over one sealed object for each block, behind a link as fast");
    report.set(
        "each figure",
        format!(
            "{} s at least, {} requests at least, and one of each client",
            options.time.as_secs(),
            options.requests
        ),
    );
    report.set("emergency evictions", vault.status().emergencies);
    hold(&mut report, options, home.trusted(&vault.status()), found);
    report.grid = Some(grid(found));
    report.notes.push(
        "owed: scheduled evictions that were not done when the last request of the figure was answered; the next figure \
         begins when they are"
            .into(),
    );
    report
}

/// The figures that something is asked of: the largest object for the fewest clients, and 64 KiB for the most.
fn hold(
    report: &mut Report,
    options: &GatewayOptions,
    trusted: TrustedMemory,
    found: &[(Cell, Measured, Measured)],
) {
    let LinkSpeed { up, down, .. } = options.speed;
    let trusted = Some(trusted);
    let largest = options.sizes.iter().max().copied().unwrap_or(0);
    let fewest = options.clients.iter().min().copied().unwrap_or(0);
    let max = options.clients.iter().max().copied().unwrap_or(0);
    for (cell, with, bare) in found.iter().filter(|(cell, ..)| cell.verb == Verb::Get) {
        if (cell.size, cell.clients) == (largest, fewest) {
            let ratios: Vec<f64> = with.seconds.iter().map(|time| time / bare.quantile(0.5)).collect();
            let figure = format!("{}, against the bare time", cell.name());
            report.row(figure, "×", Sample::of(&ratios), options.asked_get.map(Bound::AtMost), trusted);
            let figure = "  evictions owed when the last one was answered";
            report.row(figure, "", Sample::once(with.owed as f64), None, None);
        }
        if (cell.size, cell.clients) == (64 << 10, max) {
            let sixteenth = down.0.min(up.0) as f64 / 1e6 / SHARE;
            let share = Sample::once(with.megabits / sixteenth);
            let figure = format!("{}, against a sixteenth of the link", cell.name());
            report.row(figure, "×", share, options.asked_share.map(Bound::AtLeast), trusted);
        }
    }
}

/// Every figure, a row for each cell.
fn grid(found: &[(Cell, Measured, Measured)]) -> Grid {
    let mut grid = Grid::new(&[
        "",
        "vault Mbit/s",
        "p50 ms",
        "p99 ms",
        "owed",
        "bare Mbit/s",
        "p50 ms",
        "p99 ms",
        "ratio of p50",
        "of throughput",
    ]);
    for (cell, with, bare) in found {
        let figures = [
            with.megabits,
            1000.0 * with.quantile(0.5),
            1000.0 * with.quantile(0.99),
            with.owed as f64,
            bare.megabits,
            1000.0 * bare.quantile(0.5),
            1000.0 * bare.quantile(0.99),
            with.quantile(0.5) / bare.quantile(0.5),
            bare.megabits / with.megabits,
        ];
        grid.row(cell.name(), &figures);
    }
    grid
}
