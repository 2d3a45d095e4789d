//! The work without an ORAM: whole objects, or blocks of them.

use super::driver::{MeanTime, add_step_times};
use super::error::ThesisError;
use super::job::Step;
use super::run_result::RunResult;
use super::trial::Trial;
use crate::virtual_time::RequestKind;
use ameles_store::Usage;
use std::time::Duration;

/// Moves each object by one request.
pub(super) fn whole_objects(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let stored = trial.job.sizes.iter().sum();
    // The steps of a group are in flight together, and no others.
    let together = trial.job.groups().map(|(group, _)| group.len()).max().unwrap_or(1);
    Ok(run_requests(trial, together, stored, |step| vec![step.bytes(&trial.job.sizes)]))
}

/// Moves the blocks of each object in sequence, as the thesis did.
pub(super) fn sequential_blocks(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    blocks(trial, 1)
}

/// Moves the blocks of each object together.
pub(super) fn concurrent_blocks(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    blocks(trial, trial.model.in_flight)
}

fn blocks(trial: &Trial<'_>, in_flight: usize) -> Result<RunResult, ThesisError> {
    let places = trial.places()?;
    let count = |object: usize| places[object].end - places[object].start;
    let stored = (0..places.len()).map(count).sum::<u64>() * trial.block_bytes;
    let payload = trial.payload().into();
    let blocks = |step: &Step| step.blocks(&places[step.object], payload).count();
    let result = run_requests(trial, in_flight, stored, |step| vec![trial.block_bytes; blocks(step)]);
    // The trusted side holds the block that is assembled or split.
    Ok(RunResult { local_bytes: trial.block_bytes, ..result })
}

/// Does the job by these requests for each step, one group of steps after the other.
fn run_requests(
    trial: &Trial<'_>,
    in_flight: usize,
    stored_bytes: u64,
    requests: impl Fn(&Step) -> Vec<u64>,
) -> RunResult {
    let (_, network) = trial.link(in_flight);
    let network = &mut *network.borrow_mut();
    let (mut reads, mut writes) = (MeanTime::default(), MeanTime::default());
    let (mut now, mut accesses, mut start) = (Duration::ZERO, 0, Duration::ZERO);
    let mut step_times = [Duration::ZERO; 4];
    for (group, steps) in trial.job.groups() {
        if steps.start == trial.job.prepared {
            start = now;
        }
        now += trial.application_time;
        let group_start = now;
        for step in group {
            let (kind, mean) = match step.writes {
                true => (RequestKind::Put, &mut writes),
                false => (RequestKind::Get, &mut reads),
            };
            let mut answered = group_start;
            for bytes in requests(step) {
                accesses += 1;
                answered = answered.max(network.request(group_start, kind, bytes));
            }
            if steps.start >= trial.job.prepared {
                mean.add(answered - group_start);
            }
            now = now.max(answered);
        }
        add_step_times(&trial.job.timed_steps, steps.end, now - start, &mut step_times);
    }
    let usage = Usage { stored_bytes, ..network.usage() };
    RunResult {
        usage,
        accesses,
        runtime: now - start,
        read: reads.mean(),
        write: writes.mean(),
        step_times,
        ..RunResult::default()
    }
}
