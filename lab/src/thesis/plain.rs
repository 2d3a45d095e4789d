//! The work without an ORAM: whole objects, or blocks of them.

use super::drive::{Mean, note};
use super::error::ThesisError;
use super::job::Step;
use super::ran::Ran;
use super::trial::Trial;
use crate::virtual_time::Kind;
use ameles_store::Usage;
use std::time::Duration;

/// Moves each object by one request.
pub(super) fn objects(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    let stored = trial.job.sizes.iter().sum();
    // Those that are asked for together are in flight together, and no more than those.
    let together = trial.job.groups().map(|(group, _)| group.len()).max().unwrap_or(1);
    Ok(moved(trial, together, stored, |step| vec![step.bytes(&trial.job.sizes)]))
}

/// Moves the blocks of each object one after the other, as the thesis did.
pub(super) fn blocks_one_by_one(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    blocks(trial, 1)
}

/// Moves the blocks of each object together.
pub(super) fn blocks_together(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    blocks(trial, trial.model.in_flight)
}

fn blocks(trial: &Trial<'_>, in_flight: usize) -> Result<Ran, ThesisError> {
    let places = trial.places()?;
    let count = |object: usize| places[object].end - places[object].start;
    let stored = (0..places.len()).map(count).sum::<u64>() * trial.block_bytes;
    let payload = trial.payload().into();
    let blocks = |step: &Step| step.blocks(&places[step.object], payload).count();
    let ran = moved(trial, in_flight, stored, |step| vec![trial.block_bytes; blocks(step)]);
    // What a block is being put together from, or taken apart into.
    Ok(Ran { local_bytes: trial.block_bytes, ..ran })
}

/// Does the job by these requests for each step, one group of steps after the other.
fn moved(
    trial: &Trial<'_>,
    in_flight: usize,
    stored_bytes: u64,
    requests: impl Fn(&Step) -> Vec<u64>,
) -> Ran {
    let (_, network) = trial.link(in_flight);
    let network = &mut *network.borrow_mut();
    let (mut reads, mut writes) = (Mean::default(), Mean::default());
    let (mut now, mut accesses, mut begun) = (Duration::ZERO, 0, Duration::ZERO);
    let mut ends = [Duration::ZERO; 4];
    for (group, steps) in trial.job.groups() {
        if steps.start == trial.job.prepared {
            begun = now;
        }
        now += trial.operation;
        let begin = now;
        for step in group {
            let (kind, mean) = match step.writes {
                true => (Kind::Put, &mut writes),
                false => (Kind::Get, &mut reads),
            };
            let mut answered = begin;
            for bytes in requests(step) {
                accesses += 1;
                answered = answered.max(network.request(begin, kind, bytes));
            }
            if steps.start >= trial.job.prepared {
                mean.add(answered - begin);
            }
            now = now.max(answered);
        }
        note(&trial.job.ends, steps.end, now - begun, &mut ends);
    }
    let usage = Usage { stored_bytes, ..network.usage() };
    Ran {
        usage,
        accesses,
        runtime: now - begun,
        read: reads.mean(),
        write: writes.mean(),
        ends,
        ..Ran::default()
    }
}
