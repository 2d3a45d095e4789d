//! The object layer over a scheme: the accesses that Ameles's gateway makes for a job. They are recorded once, over a
//! device without contents, and then any scheme serves them.

use super::driver::DriverSettings;
use super::error::ThesisError;
use super::job::Step;
use super::recorded_accesses::{Batch, RecordedAccesses};
use super::ring_variants;
use super::run_result::RunResult;
use super::trial::Trial;
use ameles_gateway::catalogue::ContainerSettings;
use ameles_gateway::device::{Row, RowChange};
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::{Account, Device, DeviceError, DeviceShape, FIRST_ACCOUNT, Flow, Gateway, Options};
use ameles_vault::{SchemeParameters, VaultParameters};
use bytes::Bytes;
use futures::TryStreamExt;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of accesses of a batch of the device, as those of a vault.
const BATCH: usize = DriverSettings::CONCURRENT.batch as usize;
const CONTAINER: &str = "lab";

/// Ring ORAM as `ameles serve` plans it under the object layer.
pub(super) fn gateway_over_ring(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    match trial.recorded {
        Some(_) => ring_variants::planned_ring(trial),
        None => ring_variants::planned_ring(&Trial { recorded: Some(&record_accesses(trial)?), ..*trial }),
    }
}

/// Records the accesses of a trial's job.
///
/// # Errors
/// The errors of the gateway, for example if the objects do not fit.
pub(super) fn record_accesses(trial: &Trial<'_>) -> Result<RecordedAccesses, ThesisError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(ThesisError::real_time)?.block_on(record_job(trial))
}

async fn record_job(trial: &Trial<'_>) -> Result<RecordedAccesses, ThesisError> {
    let zeros = Bytes::from(vec![0; trial.payload() as usize]);
    // A vault's room for rows decides whether small objects share blocks.
    let vault =
        VaultParameters::with_defaults(SchemeParameters::Ring(ring_variants::parameters_for_bill(trial)));
    let device = Arc::new(RecordingDevice {
        zeros: zeros.clone(),
        blocks: trial.blocks(),
        rows_bytes: vault.rows_bytes,
        log: Mutex::default(),
    });
    let gateway =
        Gateway::open(Arc::clone(&device), Options::default()).await.map_err(ThesisError::real_time)?;
    let account = gateway.account(FIRST_ACCOUNT);
    let created = account.create_container(CONTAINER, ContainerSettings::default()).await;
    created.map_err(ThesisError::real_time)?;
    let mut steps = Vec::with_capacity(trial.job.steps.len());
    for step in &trial.job.steps {
        match step.writes {
            true => put(&account, step, step.bytes(&trial.job.sizes), &zeros).await?,
            false => get(&account, step).await?,
        }
        steps.push(device.take());
    }
    gateway.settle().await;
    Ok(RecordedAccesses(steps))
}

async fn put(account: &Account, step: &Step, bytes: u64, zeros: &Bytes) -> Result<(), ThesisError> {
    let writer = account.gateway().writer(Some(bytes), None);
    let (mut writer, mut left) = (writer.map_err(ThesisError::real_time)?, bytes);
    while left > 0 {
        let part = zeros.slice(..zeros.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
        left -= part.len() as u64;
        writer.push(part).await.map_err(ThesisError::real_time)?;
    }
    let written = writer.finish().await.map_err(ThesisError::real_time)?;
    let (key, details) = (step.object.to_string(), Default::default());
    let linked = account.link(CONTAINER, &key, written, details, WriteConditions::default());
    linked.await.map(drop).map_err(ThesisError::real_time)
}

async fn get(account: &Account, step: &Step) -> Result<(), ThesisError> {
    // A part without bytes is answered by the catalogue.
    let range = step.part.map(|part| part.first..part.first + part.bytes);
    if range.as_ref().is_some_and(|range| range.is_empty()) {
        return Ok(());
    }
    let object = account.object(CONTAINER, &step.object.to_string()).map_err(ThesisError::real_time)?;
    let reader = account.gateway().read(&object, range).await.map_err(ThesisError::real_time)?;
    reader.try_for_each(|_| async { Ok(()) }).await.map_err(ThesisError::real_time)
}

/// A device that records its accesses and stores nothing: every block reads as zeros.
struct RecordingDevice {
    zeros: Bytes,
    blocks: u64,
    rows_bytes: u64,
    log: Mutex<Vec<Batch>>,
}

impl RecordingDevice {
    fn record(&self, batch: Batch) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
    }

    fn take(&self) -> Vec<Batch> {
        std::mem::take(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Device for RecordingDevice {
    fn shape(&self) -> DeviceShape {
        let RecordingDevice { blocks, rows_bytes, .. } = *self;
        DeviceShape {
            block_bytes: self.zeros.len(),
            blocks,
            max_batch: BATCH,
            rows_bytes,
            row_bytes_per_access: None,
        }
    }

    fn rows_free(&self) -> u64 {
        self.rows_bytes
    }

    async fn read(&self, _: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        let answers = vec![self.zeros.clone(); blocks.len()];
        self.record(blocks.into_iter().map(|block| (block, false)).collect());
        Ok(answers)
    }

    async fn write(&self, _: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        self.record(writes.into_iter().map(|(block, _)| (block, true)).collect());
        Ok(())
    }

    async fn load_rows(&self) -> Result<Vec<Row>, DeviceError> {
        Ok(Vec::new())
    }

    async fn commit_rows(&self, _: Vec<RowChange>) -> Result<(), DeviceError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thesis::job::{Job, ObjectPart};
    use crate::thesis::options::Options;
    use crate::thesis::{schemes, workload_runs};

    /// The batches of each step of a job in blocks of 64 KiB.
    fn batches(job: &Job) -> Vec<Vec<Batch>> {
        let scheme = schemes::by_name("serve").unwrap();
        record_accesses(&workload_runs::workload_trial(&Options::standard(), "A", job, scheme, Some(64)))
            .unwrap()
            .0
    }

    #[test]
    fn each_block_of_an_object_is_accessed_once_and_a_part_takes_its_own_blocks() {
        let block = 64 << 10;
        let part = |first, bytes| Step { part: Some(ObjectPart { first, bytes }), ..Step::whole(false, 0) };
        let steps = vec![
            Step::whole(true, 0),
            Step::whole(false, 0),
            part(block, 2 * block),
            part(0, 0),
            Step::whole(true, 0),
        ];
        let job = Job { sizes: vec![20 * block], steps, ..Job::default() };
        let found = batches(&job);
        let blocks = |step: usize| {
            let mut blocks: Vec<u64> = found[step].concat().iter().map(|(block, _)| *block).collect();
            blocks.sort_unstable();
            blocks
        };
        let counts: Vec<usize> = (0..5).map(|step| found[step].concat().len()).collect();
        assert_eq!(counts, [20, 20, 2, 0, 20]);
        assert_eq!(blocks(0), blocks(1), "it is read where it was written");
        assert!(blocks(2).iter().all(|block| blocks(0).contains(block)));
        assert!(
            blocks(4).iter().all(|block| !blocks(0).contains(block)),
            "the old one is there until the end"
        );
        assert!(found.concat().iter().all(|batch| batch.len() <= BATCH));
        let writes = |step: usize| found[step].concat().iter().all(|(_, writes)| *writes);
        assert!(writes(0) && !writes(1) && writes(4));
    }
}
