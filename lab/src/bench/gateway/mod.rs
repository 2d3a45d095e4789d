//! The gateway over a link, beside the same server with the ORAM off.
//!
//! Real HTTP over loopback, in real time: clients of S3 (`object_store`), the gateway's own server, and below it either
//! a vault or a `plain` device, each behind a link of its own. The store beneath is memory, so that the link is what
//! is slow; the trusted disk is a real one, and synced.

mod options;
mod plain;
mod workload;

use super::report::{Bound, Grid, Report, TrustedMemory, bytes};
use super::sample::Sample;
use super::service::{UniformLoad, VaultFolder, fill};
use super::{BenchError, Progress};
use ameles_gateway::auth::identity::{AccessKey, User, Users};
use ameles_gateway::catalogue::ContainerSettings;
use ameles_gateway::http::loopback::Loopback;
use ameles_gateway::http::server;
use ameles_gateway::{AnyDevice, Device, FIRST_ACCOUNT, Gateway, Options, serve_s3};
use ameles_store::{Link, LinkSpeed, VersionedMemory};
use ameles_vault::Vault;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ClientOptions, RetryConfig};
pub use options::GatewayOptions;
use plain::PlainDevice;
use std::sync::Arc;
use workload::{Measurement, Operation, Workload};

/// The link is shared among this many where its share is asked for: a logical byte costs that many on the way.
const LINK_SHARE: f64 = 16.0;
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
struct RunningGateway {
    gateway: Gateway,
    server: Loopback,
}

impl RunningGateway {
    async fn start(device: AnyDevice) -> Result<Self, BenchError> {
        let gateway = Gateway::open(device, Options::default()).await.map_err(BenchError::failed)?;
        let account = gateway.account(FIRST_ACCOUNT);
        let created = account.create_container(BUCKET, ContainerSettings::default()).await;
        created.map_err(BenchError::failed)?;
        let users = Users::new(vec![User::first(AccessKey::new("access", "secret"))]);
        let users = users.map_err(BenchError::failed)?;
        let (shared_gateway, users) = (gateway.clone(), Arc::new(users));
        let server = Loopback::run(|listener, end| {
            serve_s3(listener, shared_gateway, users, server::Options::default(), end)
        });
        Ok(RunningGateway { gateway, server: server.await.map_err(BenchError::failed)? })
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
    let oram = RunningGateway::start(device(vault.clone())).await?;
    let baseline = PlainDevice::new(&options.vault, options.speed, home.path())?;
    let baseline = RunningGateway::start(AnyDevice::new(baseline)).await?;
    let (oram_client, baseline_client) = (oram.client()?, baseline.client()?);

    let mut measurements = Vec::new();
    let workloads = workloads(options);
    for (nth, workload) in workloads.iter().enumerate() {
        progress.on_step(&workload.name(), nth as u64, workloads.len() as u64);
        let baseline = workload.measure(&baseline_client, options, None).await?;
        let oram = workload.measure(&oram_client, options, Some(&vault)).await?;
        progress.on_figure(&format!("{}: {oram}; bare {baseline}", workload.name()));
        measurements.push((*workload, oram, baseline));
    }
    let report = report(options, &home, &vault, &measurements);
    oram.stop().await;
    baseline.stop().await;
    vault.close().await.map_err(BenchError::failed)?;
    Ok(report)
}

fn workloads(options: &GatewayOptions) -> Vec<Workload> {
    let mut workloads = Vec::new();
    for operation in [Operation::Put, Operation::Get] {
        for &size in &options.sizes {
            workloads.extend(options.clients.iter().map(|&clients| Workload { operation, size, clients }));
        }
    }
    workloads
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
    let mut load = UniformLoad::new(1, options.vault.filled, vault.block_bytes());
    for done in (0..round).step_by(batch) {
        progress.on_step("warming up", done, round);
        vault.access(load.calls(batch)).await.map_err(BenchError::failed)?;
    }
    vault.close().await.map_err(BenchError::failed)?;
    Ok(())
}

fn report(
    options: &GatewayOptions,
    home: &VaultFolder,
    vault: &Vault,
    measurements: &[(Workload, Measurement, Measurement)],
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
    add_goal_rows(&mut report, options, home.trusted(&vault.status()), measurements);
    report.grid = Some(grid(measurements));
    report.notes.push(
        "pending: scheduled evictions that were not done when the last request of the figure was answered; the next figure \
         begins when they are"
            .into(),
    );
    report
}

/// The figures that something is asked of: the largest object for the fewest clients, and 64 KiB for the most.
fn add_goal_rows(
    report: &mut Report,
    options: &GatewayOptions,
    trusted: TrustedMemory,
    measurements: &[(Workload, Measurement, Measurement)],
) {
    let LinkSpeed { up, down, .. } = options.speed;
    let trusted = Some(trusted);
    let largest = options.sizes.iter().max().copied().unwrap_or(0);
    let fewest = options.clients.iter().min().copied().unwrap_or(0);
    let max = options.clients.iter().max().copied().unwrap_or(0);
    for (workload, oram, baseline) in
        measurements.iter().filter(|(workload, ..)| workload.operation == Operation::Get)
    {
        if (workload.size, workload.clients) == (largest, fewest) {
            let ratios: Vec<f64> = oram.seconds.iter().map(|time| time / baseline.quantile(0.5)).collect();
            let figure = format!("{}, against the bare time", workload.name());
            report.row(figure, "×", Sample::of(&ratios), options.goal_get.map(Bound::AtMost), trusted);
            let figure = "  evictions owed when the last one was answered";
            report.row(figure, "", Sample::once(oram.pending_evictions as f64), None, None);
        }
        if (workload.size, workload.clients) == (64 << 10, max) {
            let sixteenth = down.0.min(up.0) as f64 / 1e6 / LINK_SHARE;
            let share = Sample::once(oram.megabits / sixteenth);
            let figure = format!("{}, against a sixteenth of the link", workload.name());
            report.row(figure, "×", share, options.goal_share.map(Bound::AtLeast), trusted);
        }
    }
}

/// Every figure, a row for each cell.
fn grid(measurements: &[(Workload, Measurement, Measurement)]) -> Grid {
    let mut grid = Grid::new(&[
        "",
        "vault Mbit/s",
        "p50 ms",
        "p99 ms",
        "pending",
        "bare Mbit/s",
        "p50 ms",
        "p99 ms",
        "ratio of p50",
        "of throughput",
    ]);
    for (workload, oram, baseline) in measurements {
        let figures = [
            oram.megabits,
            1000.0 * oram.quantile(0.5),
            1000.0 * oram.quantile(0.99),
            oram.pending_evictions as f64,
            baseline.megabits,
            1000.0 * baseline.quantile(0.5),
            1000.0 * baseline.quantile(0.99),
            oram.quantile(0.5) / baseline.quantile(0.5),
            baseline.megabits / oram.megabits,
        ];
        grid.row(workload.name(), &figures);
    }
    grid
}
