//! A run in real time: a job by a subject, with its figures. The bytes that are read are compared with the written
//! ones.

use super::client;
use super::cpu_time;
use super::emulated_link::EmulatedLink;
use super::server::{ACCESS, Server};
use crate::bench::s3::RunningGateway;
use crate::bench::service::TrustedFolder;
use crate::thesis::driver::MeanTime;
use crate::thesis::error::ThesisError;
use crate::thesis::job::Step;
use crate::thesis::run_result::RunResult;
use crate::thesis::trial::Trial;
use crate::thesis::vault_folder::{fill, settle, vault_folder};
use crate::virtual_time::LinkModel;
use ameles_core::types::BlockId;
use ameles_gateway::AnyDevice;
use ameles_store::{Meter, MeterReader, Usage};
use ameles_vault::{Call, SchemeParameters, Vault, VaultParameters};
use object_store::aws::AmazonS3;
use std::time::{Duration, Instant};

/// The figures of a run in real time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RealRun {
    pub(super) result: RunResult,
    /// The processor time of the job, without the time of the S3 server.
    pub(super) processor: Duration,
    /// The number of bytes of checkpoints that were shipped to the store during the job.
    pub(super) shipped_bytes: u64,
}

/// The byte of blocks that were filled.
const FILLED: u8 = 0xff;
/// The number of accesses of a batch.
const BATCH: usize = 16;

fn server(model: LinkModel) -> Result<Server, ThesisError> {
    Server::start(EmulatedLink::new(model.speed, model.server))
}

/// The contents of what a step writes.
fn byte(step: usize) -> u8 {
    (step % 251) as u8
}

/// Does a job step by step; `work` does a step, and gets the byte that it writes or must find.
async fn steps(
    trial: &Trial<'_>,
    mut work: impl AsyncFnMut(&Step, u8) -> Result<(), ThesisError>,
) -> Result<RunResult, ThesisError> {
    let (mut reads, mut writes) = (MeanTime::default(), MeanTime::default());
    let mut last = vec![FILLED; trial.job.sizes.len()];
    let begun = Instant::now();
    for (number, step) in trial.job.steps.iter().enumerate() {
        if step.writes {
            last[step.object] = byte(number);
        }
        let started = Instant::now();
        work(step, last[step.object]).await?;
        let mean = if step.writes { &mut writes } else { &mut reads };
        mean.add(started.elapsed());
    }
    Ok(RunResult {
        runtime: begun.elapsed(),
        read: reads.mean(),
        write: writes.mean(),
        ..RunResult::default()
    })
}

fn compare(found: &[u8], byte: u8, bytes: u64) -> Result<(), ThesisError> {
    if found.len() as u64 == bytes && found.iter().all(|one| *one == byte) {
        return Ok(());
    }
    Err(ThesisError::real_time("what was read is not what was written"))
}

/// Reads an object, which must have these bytes; without bytes, asks whether it exists.
async fn read(s3: &AmazonS3, name: &str, byte: u8, bytes: u64) -> Result<(), ThesisError> {
    match bytes {
        0 => client::head(s3, name).await,
        _ => compare(&client::get(s3, name).await?, byte, bytes),
    }
}

/// Moves whole objects, or the blocks of each in sequence, directly to the S3 server.
pub(super) async fn plain(trial: &Trial<'_>, in_blocks: bool) -> Result<RealRun, ThesisError> {
    let server = server(trial.model)?;
    let s3 = client::object_client(&server.endpoint())?;
    let places = trial.places()?;
    let mut usage = Usage::default();
    // The connection is there before the job begins.
    client::put(&s3, "first", vec![0]).await?;
    server.link.set_enabled(true);
    let processor = cpu_time::without_server();
    let result = steps(trial, async |step, byte| {
        let (place, payload) = (&places[step.object], trial.payload().into());
        let pieces = if in_blocks { step.blocks(place, payload) } else { 0..1 };
        let bytes = if in_blocks { trial.block_bytes } else { step.bytes(&trial.job.sizes) };
        for piece in pieces {
            let name = format!("{}-{piece}", step.object);
            if step.writes {
                client::put(&s3, &name, vec![byte; bytes as usize]).await?;
                (usage.bucket_writes, usage.bytes_up) = (usage.bucket_writes + 1, usage.bytes_up + bytes);
            } else {
                read(&s3, &name, byte, bytes).await?;
                (usage.slot_reads, usage.bytes_down) = (usage.slot_reads + 1, usage.bytes_down + bytes);
            }
        }
        Ok(())
    })
    .await?;
    let processor = cpu_time::without_server().saturating_sub(processor);
    let local_bytes = if in_blocks { trial.block_bytes } else { 0 };
    Ok(RealRun {
        result: RunResult { usage, accesses: usage.requests(), local_bytes, ..result },
        processor,
        shipped_bytes: 0,
    })
}

/// A vault at the S3 server, filled and warm, with the link put in.
struct PreparedVault {
    server: Server,
    home: TrustedFolder,
    vault: Vault,
    meter: MeterReader,
}

async fn prepare_vault(trial: &Trial<'_>, scheme: SchemeParameters) -> Result<PreparedVault, ThesisError> {
    let server = server(trial.model)?;
    let period = period(&scheme);
    let home = vault_folder(VaultParameters::with_defaults(scheme))?;
    let layout = home.parameters().layout();
    home.create(client::vault_store(&server.endpoint(), layout.clone()).await?).await?;
    let store = Meter::new(client::vault_store(&server.endpoint(), layout).await?);
    let meter = store.reader();
    let vault = home.open(store).await?;
    fill(&vault, FILLED).await?;
    warm_up(trial, &vault, period).await?;
    server.link.set_enabled(true);
    Ok(PreparedVault { server, home, vault, meter })
}

/// Accesses after which every path was evicted once, and accesses between two evictions.
fn period(scheme: &SchemeParameters) -> (u64, u64) {
    match scheme {
        SchemeParameters::Ring(ring) => {
            (u64::from(ring.eviction_rate) << ring.leaf_level.0, ring.eviction_rate.into())
        }
        _ => (0, 1),
    }
}

/// Accesses blocks until every path was evicted, and the next eviction is as far away as in a new vault.
async fn warm_up(trial: &Trial<'_>, vault: &Vault, (round, rate): (u64, u64)) -> Result<(), ThesisError> {
    let all = (trial.blocks() + round).next_multiple_of(rate);
    let mut block = 0;
    for first in (trial.blocks()..all).step_by(BATCH) {
        let next = |_| {
            block = (block + 1) % trial.blocks();
            Call::Read(BlockId(block))
        };
        let calls = (first..all.min(first + BATCH as u64)).map(next).collect();
        vault.access(calls).await.map_err(ThesisError::real_time)?;
    }
    settle(vault).await
}

/// The job by a vault, as its library serves it.
pub(super) async fn vault(trial: &Trial<'_>, scheme: SchemeParameters) -> Result<RealRun, ThesisError> {
    let places = trial.places()?;
    let prepared = prepare_vault(trial, scheme).await?;
    let mut accesses = 0;
    let vault = &prepared.vault;
    let bytes = trial.payload();
    measure(trial, &prepared, async |step, byte| {
        let blocks: Vec<u64> = step.blocks(&places[step.object], bytes.into()).collect();
        accesses += blocks.len() as u64;
        for batch in blocks.chunks(BATCH) {
            let call = |block: &u64| match step.writes {
                true => Call::Write(BlockId(*block), vec![byte; bytes as usize].into()),
                false => Call::Read(BlockId(*block)),
            };
            let answers =
                vault.access(batch.iter().map(call).collect()).await.map_err(ThesisError::real_time)?;
            for found in answers.into_iter().flatten() {
                compare(&found, byte, bytes.into())?;
            }
        }
        Ok(())
    })
    .await
    .map(|measured| RealRun { result: RunResult { accesses, ..measured.result }, ..measured })
}

/// The job by the whole gateway: a client of S3, the server over HTTP, the catalogue, and the vault.
pub(super) async fn serve(
    trial: &Trial<'_>,
    scheme: SchemeParameters,
    device: fn(Vault) -> AnyDevice,
) -> Result<RealRun, ThesisError> {
    let prepared = prepare_vault(trial, scheme).await?;
    let gateway =
        RunningGateway::start(device(prepared.vault.clone()), ACCESS).await.map_err(ThesisError::RealTime)?;
    let s3 = gateway.client().map_err(ThesisError::RealTime)?;
    let before = prepared.vault.status().accesses;
    let measured = measure(trial, &prepared, async |step, byte| {
        let (name, bytes) = (step.object.to_string(), step.bytes(&trial.job.sizes));
        match step.writes {
            true => client::put(&s3, &name, vec![byte; bytes as usize]).await,
            false => read(&s3, &name, byte, bytes).await,
        }
    })
    .await?;
    let accesses = prepared.vault.status().accesses - before;
    gateway.stop().await;
    Ok(RealRun { result: RunResult { accesses, ..measured.result }, ..measured })
}

/// Does the job, and takes the figures of the vault's store. The run ends when no eviction is pending.
async fn measure(
    trial: &Trial<'_>,
    prepared: &PreparedVault,
    work: impl AsyncFnMut(&Step, u8) -> Result<(), ThesisError>,
) -> Result<RealRun, ThesisError> {
    let PreparedVault { server, home, vault, meter } = prepared;
    let (usage, checkpoints, processor) =
        (meter.usage(), vault.status().checkpoints.shipped, cpu_time::without_server());
    let begun = Instant::now();
    let result = steps(trial, work).await?;
    settle(vault).await?;
    let runtime = begun.elapsed();
    let processor = cpu_time::without_server().saturating_sub(processor);
    let (usage, status) = (meter.usage().since(&usage), vault.status());
    server.link.set_enabled(false);
    let parameters = home.parameters();
    let shipped = u64::from(status.checkpoints.shipped > checkpoints);
    let result = RunResult {
        usage,
        runtime,
        local_bytes: parameters.trusted_bytes(),
        period: period(&parameters.scheme).1,
        emergencies: status.emergencies,
        ..result
    };
    Ok(RealRun { result, processor, shipped_bytes: shipped * parameters.shipped_bytes() })
}
