//! Measures the gateway over a link, compared with the same server with the ORAM off.
//!
//! Requests are real HTTP over loopback, in real time. Clients of S3 (`object_store`) use the gateway's own server
//! over a vault or a `plain` device, each behind its own link. The store is in memory, so that the link is the slow
//! part. The trusted disk is real and synced.

mod options;
mod plain;
mod workload;

use super::report::{Bound, Grid, Report, TrustedMemory, bytes};
use super::s3::{BucketAccess, RunningGateway};
use super::sample::Sample;
use super::service::{BenchVault, UniformLoad};
use super::{BenchError, Progress};
use ameles_gateway::{AnyDevice, Device};
use ameles_store::{Link, LinkSpeed, VersionedMemory};
use ameles_vault::Vault;
pub use options::GatewayOptions;
use plain::PlainDevice;
use workload::{Measurement, Operation, Workload};

/// The divisor of the link for the goal of throughput: a logical byte costs this many bytes on the link.
const LINK_SHARE: f64 = 16.0;
const ACCESS: BucketAccess = BucketAccess { bucket: "bench", key: "access", secret: "secret" };

/// Runs the bench. `device` makes the gateway's device of a vault. The caller must not be within an asynchronous
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

async fn measure(
    options: &GatewayOptions,
    device: &dyn Fn(Vault) -> AnyDevice,
    progress: &dyn Progress,
) -> Result<Report, BenchError> {
    let bench_vault = BenchVault::new(&options.vault)?;
    let memory = VersionedMemory::new(bench_vault.folder.parameters().layout());
    let mut load = UniformLoad::new(1, options.vault.filled, options.vault.block_bytes as usize);
    bench_vault.warm_up(&memory, &mut load, progress).await?;
    let vault = bench_vault.folder.open(Link::new(memory, options.speed).precise()).await?;
    let oram = RunningGateway::start(device(vault.clone()), ACCESS).await.map_err(BenchError::Failed)?;
    let baseline = PlainDevice::new(&options.vault, options.speed, bench_vault.folder.path())?;
    let baseline =
        RunningGateway::start(AnyDevice::new(baseline), ACCESS).await.map_err(BenchError::Failed)?;
    let (oram_client, baseline_client) =
        (oram.client().map_err(BenchError::Failed)?, baseline.client().map_err(BenchError::Failed)?);

    let mut measurements = Vec::new();
    let workloads = workloads(options);
    for (nth, workload) in workloads.iter().enumerate() {
        progress.on_step(&workload.name(), nth as u64, workloads.len() as u64);
        let baseline = workload.measure(&baseline_client, options, None).await?;
        let oram = workload.measure(&oram_client, options, Some(&vault)).await?;
        progress.on_figure(&format!("{}: {oram}; bare {baseline}", workload.name()));
        measurements.push((*workload, oram, baseline));
    }
    let report = report(options, &bench_vault, &vault, &measurements);
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

fn report(
    options: &GatewayOptions,
    bench_vault: &BenchVault,
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
    bench_vault.describe(&mut report);
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
    add_goal_rows(&mut report, options, bench_vault.trusted(&vault.status()), measurements);
    report.grid = Some(grid(measurements));
    report.notes.push(
        "pending: scheduled evictions that were not done when the last request of the figure was answered; the next figure \
         begins when they are"
            .into(),
    );
    report
}

/// Adds the figures that have a goal: the largest object for the fewest clients, and 64 KiB for the most.
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
            let figure = "  evictions pending when the last one was answered";
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
