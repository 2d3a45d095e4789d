//! Drives a scheme: accesses the blocks of objects, and runs the scheme's pending steps.

use super::error::ThesisError;
use super::job::{Job, Step};
use super::recorded_accesses::{Batch, RecordedAccesses};
use super::run_result::RunResult;
use crate::virtual_time::Clock;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::types::BlockId;
use futures::future::{Either, select};
use futures::stream::{FuturesUnordered, StreamExt};
use rand_core::RngCore;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::time::Duration;

/// The settings of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DriverSettings {
    /// The maximum number of accesses in a batch.
    pub(super) batch: u64,
    /// True if pending steps run in parallel with the next accesses; false if they run before them.
    pub(super) overlaps_steps: bool,
    /// The maximum number of requests in flight.
    pub(super) in_flight: usize,
}

impl DriverSettings {
    /// A request after the other, like the thesis's synchronous schemes.
    pub(super) const SEQUENTIAL: DriverSettings =
        DriverSettings { batch: 1, overlaps_steps: false, in_flight: 1 };
    /// The settings of Ameles's own vault and store.
    pub(super) const CONCURRENT: DriverSettings =
        DriverSettings { batch: 16, overlaps_steps: true, in_flight: 64 };
}

type PendingStep<'a> = Pin<Box<dyn Future<Output = Result<(), OramError<Infallible>>> + 'a>>;

struct Driver<'a, O> {
    oram: &'a O,
    settings: DriverSettings,
    steps_in_flight: FuturesUnordered<PendingStep<'a>>,
}

/// The blocks that the steps of a job access.
pub(super) enum JobBlocks<'a> {
    /// The blocks of the objects: a range for each object, and the payload bytes of a block.
    Objects(&'a [Range<u64>], u64),
    /// The blocks that the object layer accessed in each step.
    RecordedAccesses(&'a RecordedAccesses),
}

/// A job with its blocks, and how often it is done.
pub(super) struct RepeatedJob<'a> {
    pub(super) job: &'a Job,
    pub(super) blocks: JobBlocks<'a>,
    /// The time that the application takes for each operation, in addition to the store.
    pub(super) application_time: Duration,
    /// The number of times that the job is done in sequence. Figures are means over them.
    pub(super) repeats: u32,
}

impl RepeatedJob<'_> {
    /// The batches of a group of steps; `steps` are their numbers.
    fn batches(&self, group: &[Step], steps: &Range<usize>) -> Vec<Batch> {
        match &self.blocks {
            JobBlocks::Objects(places, payload) => {
                let of = |step: &Step| step.blocks(&places[step.object], *payload);
                let all = group.iter().flat_map(|step| of(step).map(|block| (block, step.writes)));
                vec![merge_accesses(all)]
            }
            JobBlocks::RecordedAccesses(objects) => match &objects.0[steps.clone()] {
                [alone] => alone.clone(),
                together => vec![merge_accesses(together.iter().flatten().flatten().copied())],
            },
        }
    }
}

/// The blocks, each once: written if any of those who request it writes it.
fn merge_accesses(all: impl Iterator<Item = (u64, bool)>) -> Batch {
    let mut blocks = BTreeMap::new();
    all.for_each(|(block, writes)| *blocks.entry(block).or_default() |= writes);
    blocks.into_iter().collect()
}

/// Writes random blocks `accesses` times, and finishes all pending steps.
pub(super) async fn warm_up<O: Oram<Error = Infallible>>(
    oram: &O,
    random: &mut impl RngCore,
    accesses: u64,
) -> Result<(), ThesisError> {
    let mut driver =
        Driver { oram, settings: DriverSettings::CONCURRENT, steps_in_flight: FuturesUnordered::new() };
    let max = oram.max_batch() as u64;
    let mut left = accesses;
    while left > 0 {
        let first = random.next_u64() % oram.capacity();
        let end = oram.capacity().min(first + left.min(max));
        driver.access(&(first..end).map(|block| (block, true)).collect::<Vec<_>>()).await?;
        left -= end - first;
    }
    driver.finish_pending_steps().await
}

/// Does a job. Counts and times are those of the driver; the store has its own.
pub(super) async fn run_job<O: Oram<Error = Infallible>>(
    oram: &O,
    clock: &Clock,
    repeated: &RepeatedJob<'_>,
    settings: DriverSettings,
) -> Result<RunResult, ThesisError> {
    let mut driver = Driver { oram, settings, steps_in_flight: FuturesUnordered::new() };
    let (mut reads, mut writes) = (MeanTime::default(), MeanTime::default());
    let (mut accesses, mut runtime, mut step_times) = (0, Duration::ZERO, [Duration::ZERO; 4]);
    for _ in 0..repeated.repeats {
        accesses = 0;
        let mut start = clock.now();
        for (group, steps) in repeated.job.groups() {
            if steps.start == repeated.job.prepared {
                start = clock.now();
            }
            driver.wait(clock, repeated.application_time).await?;
            let group_start = clock.now();
            for batch in repeated.batches(group, &steps) {
                accesses += batch.len() as u64;
                driver.blocks(&batch).await?;
            }
            for step in group.iter().filter(|_| steps.start >= repeated.job.prepared) {
                let mean = if step.writes { &mut writes } else { &mut reads };
                mean.add(clock.now() - group_start);
            }
            add_step_times(&repeated.job.timed_steps, steps.end, clock.now() - start, &mut step_times);
        }
        driver.finish_pending_steps().await?;
        runtime += clock.now() - start;
    }
    let runtime = runtime / repeated.repeats.max(1);
    let step_times = step_times.map(|end| end / repeated.repeats.max(1));
    Ok(RunResult {
        accesses,
        runtime,
        read: reads.mean(),
        write: writes.mean(),
        step_times,
        ..RunResult::default()
    })
}

impl<O: Oram<Error = Infallible>> Driver<'_, O> {
    /// Accesses blocks, each of which is written or read.
    async fn blocks(&mut self, blocks: &[(u64, bool)]) -> Result<(), ThesisError> {
        let max = self.settings.batch.min(self.oram.max_batch() as u64) as usize;
        for batch in blocks.chunks(max.max(1)) {
            self.access(batch).await?;
        }
        Ok(())
    }

    async fn access(&mut self, blocks: &[(u64, bool)]) -> Result<(), ThesisError> {
        while self.oram.must_step() {
            self.start_pending_steps();
            if self.steps_in_flight.is_empty() {
                self.steps_in_flight.push(Box::pin(self.oram.step()));
            }
            self.steps_in_flight.next().await.transpose()?;
        }
        self.start_pending_steps();
        let access = |(block, writes): &(u64, bool)| match writes {
            true => Access::Write(BlockId(*block), &[]),
            false => Access::Read(BlockId(*block), &mut []),
        };
        let mut batch: Vec<Access<'_>> = blocks.iter().map(access).collect();
        {
            let mut access = pin!(self.oram.access(&mut batch));
            loop {
                if self.steps_in_flight.is_empty() {
                    access.await?;
                    break;
                }
                match select(access.as_mut(), self.steps_in_flight.next()).await {
                    Either::Left((served, _)) => {
                        served?;
                        break;
                    }
                    Either::Right((ended, _)) => ended.transpose()?,
                };
            }
        }
        if !self.settings.overlaps_steps {
            self.finish_pending_steps().await?;
        }
        Ok(())
    }

    /// Waits for a time. Pending steps run meanwhile, if they may run in parallel with accesses.
    async fn wait(&mut self, clock: &Clock, time: Duration) -> Result<(), ThesisError> {
        let mut end = pin!(clock.sleep_until(clock.now() + time));
        while !self.steps_in_flight.is_empty() {
            match select(end.as_mut(), self.steps_in_flight.next()).await {
                Either::Left(_) => return Ok(()),
                Either::Right((ended, _)) => ended.transpose()?,
            };
        }
        end.await;
        Ok(())
    }

    /// Starts as many pending steps as the scheme can run concurrently.
    fn start_pending_steps(&self) {
        let room = self.oram.max_concurrent_steps().saturating_sub(self.steps_in_flight.len()) as u64;
        for _ in 0..room.min(self.oram.pending_steps()) {
            self.steps_in_flight.push(Box::pin(self.oram.step()));
        }
    }

    /// Finishes all pending steps.
    async fn finish_pending_steps(&mut self) -> Result<(), ThesisError> {
        loop {
            self.start_pending_steps();
            match self.steps_in_flight.next().await {
                Some(ended) => ended?,
                None => return Ok(()),
            }
        }
    }
}

/// Adds the time to each entry whose step count is `steps`.
pub(super) fn add_step_times(
    timed_steps: &[usize],
    steps: usize,
    time: Duration,
    step_times: &mut [Duration; 4],
) {
    for (_, end) in timed_steps.iter().zip(step_times).filter(|(timed_steps, _)| **timed_steps == steps) {
        *end += time;
    }
}

/// A mean of times.
#[derive(Default)]
pub(super) struct MeanTime {
    sum: Duration,
    count: u32,
}

impl MeanTime {
    /// Adds a time.
    pub(super) fn add(&mut self, time: Duration) {
        self.sum += time;
        self.count += 1;
    }

    /// The mean; zero of no times.
    pub(super) fn mean(&self) -> Duration {
        self.sum.checked_div(self.count).unwrap_or_default()
    }
}
