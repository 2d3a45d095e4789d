//! The work without an ORAM: whole objects, or blocks of them.

use super::drive::Mean;
use super::error::ThesisError;
use super::ran::Ran;
use super::trial::Trial;
use crate::virtual_time::Kind;
use lethe_store::Usage;
use std::time::Duration;

/// Moves each object by one request.
pub(super) fn objects(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    let stored = trial.job.sizes.iter().sum();
    Ok(moved(trial, 1, stored, |object| vec![trial.job.sizes[object]]))
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
    let ran = moved(trial, in_flight, stored, |object| vec![trial.block_bytes; count(object) as usize]);
    // What a block is being put together from, or taken apart into.
    Ok(Ran { local_bytes: trial.block_bytes, ..ran })
}

/// Does the job by these requests for each object, one object after the other.
fn moved(
    trial: &Trial<'_>,
    in_flight: usize,
    stored_bytes: u64,
    requests: impl Fn(usize) -> Vec<u64>,
) -> Ran {
    let (_, network) = trial.link(in_flight);
    let network = &mut *network.borrow_mut();
    let (mut reads, mut writes) = (Mean::default(), Mean::default());
    let (mut now, mut accesses, mut begun) = (Duration::ZERO, 0, Duration::ZERO);
    for (nth, step) in trial.job.steps.iter().enumerate() {
        let kind = if step.writes { Kind::Put } else { Kind::Get };
        if nth == trial.job.prepared {
            begun = now;
        }
        now += trial.operation;
        let begin = now;
        for bytes in requests(step.object) {
            accesses += 1;
            now = now.max(network.request(begin, kind, bytes));
        }
        if nth >= trial.job.prepared {
            let mean = if step.writes { &mut writes } else { &mut reads };
            mean.add(now - begin);
        }
    }
    let usage = Usage { stored_bytes, ..network.usage() };
    Ran { usage, accesses, runtime: now - begun, read: reads.mean(), write: writes.mean(), ..Ran::default() }
}
