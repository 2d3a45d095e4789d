//! The study that the thesis put off: the costs that differential privacy saves. Root ORAM is Path ORAM with an ε. With
//! a larger ε, fewer blocks wait on the trusted side, so the same trusted memory replaces more levels of the tree.

use super::driver::{self, DriverSettings};
use super::error::ThesisError;
use super::options::Options;
use super::row::Row;
use super::run_result::RunResult;
use super::schemes::{self, SCHEMES};
use super::trial::{InitialState, PreparedOram, Trial};
use super::workload_runs::{workload_job, workload_trial};
use crate::bench::Progress;
use crate::prices;
use crate::report::{Section, Sheet};
use crate::virtual_time::SimulatedStore;
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::root::{RootOram, RootParameters, root_oram};
use ameles_core::types::{Bucket, Level};
use rand_chacha::ChaCha12Rng;

/// The statements of privacy. 0 is Path ORAM.
const EPSILONS: [f64; 9] = [0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 14.0, 16.0, 20.0];
/// The divisors of the capacity that give the trusted blocks.
const SHARES: [u64; 3] = [4, 16, 64];
/// The workload, and its size of blocks in KiB.
const WORKLOAD: (&str, u64) = ("A", 256);
/// The mean number of accesses of each block before the waiting blocks are counted.
const WARM_UP_ACCESSES: u64 = 4;
/// The number of readings of a mean, and the accesses before each.
const READINGS: (u64, u64) = (64, 64);
const BATCH: u32 = 16;

/// Runs the study.
///
/// # Errors
/// [`ThesisError`].
pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Section, ThesisError> {
    let (letter, kib) = WORKLOAD;
    let (_, job) = workload_job(options, letter)?;
    let scheme = schemes::by_name("path").unwrap_or(&SCHEMES[0]);
    let trial = workload_trial(options, letter, &job, scheme, Some(kib));
    let baseline = (SCHEMES[0].run)(&workload_trial(options, letter, &job, &SCHEMES[0], None))?;
    let mut sheet = Sheet::new(
        "study",
        &format!("Root ORAM on workload {letter}, blocks of {kib} KiB, {} blocks:", trial.blocks()),
        [
            "trusted",
            "ε of an access",
            "λ",
            "levels in the store",
            "waiting, blocks",
            "requests/access",
            "blocks moved/access",
            "slowdown",
            "S3, ×",
        ],
    );
    let shares: &[u64] = if options.quick { &SHARES[..1] } else { &SHARES };
    let all = (shares.len() * EPSILONS.len()) as u64;
    let runs = shares.iter().flat_map(|share| EPSILONS.map(|epsilon| (*share, epsilon)));
    for (nth, (share, epsilon)) in runs.enumerate() {
        progress.on_step(&format!("study: ε = {epsilon}, 1/{share} trusted"), nth as u64, all);
        let Some((parameters, mean_waiting_blocks)) = highest_top(&trial, share, epsilon)? else { continue };
        let result = run(&trial, &parameters)?;
        let row = Row {
            filling: options.filling,
            seed: options.seed,
            ..Row::unprinted(letter, "root", Some(kib), [result, baseline])
        };
        sheet.rows.push(cells(share, &parameters, mean_waiting_blocks, &row));
    }
    let mut section = Section::new("study", "The costs that differential privacy saves");
    section.add_table(sheet);
    section.add_text(
        "The tree top is the highest that leaves room in the trusted share for a run's mean waiting blocks and a batch's \
         paths. That is not a bound of 2^-80 as in Path ORAM's own planning. In k accesses the statement is k ε: a \
         trace may be e^(k ε) times as likely under one sequence as under another.",
    );
    Ok(section)
}

fn cells(share: u64, parameters: &RootParameters, mean_waiting_blocks: f64, row: &Row) -> Vec<String> {
    let (usage, accesses) = (row.result.usage, row.result.accesses as f64);
    let block = (row.block_kib.unwrap_or(1) << 10) as f64;
    let levels = parameters.path.leaf_level.0 + 1 - parameters.path.top.0;
    let moved = (usage.bytes_down + usage.bytes_up) as f64 / block;
    let providers = prices::thesis_providers();
    let dollars = providers.first().and_then(|s3| row.times_dollars(s3));
    vec![
        format!("1/{share}"),
        format!("{:.1}", parameters.epsilon()),
        format!("{:.4}", parameters.near_probability()),
        levels.to_string(),
        format!("{mean_waiting_blocks:.0}"),
        format!("{:.2}", (usage.gets() + usage.puts()) as f64 / accesses),
        format!("{:.2}", moved / accesses),
        format!("{:.2}", row.slowdown()),
        dollars.map_or_else(|| "–".to_owned(), |dollars| format!("{dollars:.1}")),
    ]
}

/// The parameters with the highest tree top that fits, and the mean number of blocks that wait. These blocks and the
/// paths of a batch must fit into a share of the capacity.
fn highest_top(
    trial: &Trial<'_>,
    share: u64,
    epsilon: f64,
) -> Result<Option<(RootParameters, f64)>, ThesisError> {
    let trusted = trial.blocks() / share;
    let path = PathParameters::for_capacity(trial.blocks(), 0, trusted, BATCH);
    let path = path.map_err(|error| ThesisError::Parameters("Root ORAM", error.into()))?;
    for top in (0..=path.leaf_level.0).rev().map(Level) {
        let mut path = PathParameters { top, ..path.clone() };
        path.stash_bound =
            path.waiting_bound() + 2 * BATCH * path.blocks_per_bucket * (path.leaf_level.0 + 1 - top.0);
        let paths = f64::from(BATCH) * path.blocks_on_path();
        // At least as many blocks wait as a quarter of the subtrees' roots would hold.
        if paths + 0.25 * f64::from(top.0).exp2() > trusted as f64 {
            continue;
        }
        let parameters = RootParameters::for_epsilon(path, top, epsilon);
        let mean_waiting_blocks = mean_waiting_blocks(trial, &parameters)?;
        if mean_waiting_blocks + paths <= trusted as f64 {
            return Ok(Some((parameters, mean_waiting_blocks)));
        }
    }
    Ok(None)
}

/// The mean of the blocks on the trusted side when no step is pending, over random accesses.
fn mean_waiting_blocks(trial: &Trial<'_>, parameters: &RootParameters) -> Result<f64, ThesisError> {
    let layout = parameters.path.layout();
    let (clock, network) = trial.link(DriverSettings::CONCURRENT.in_flight);
    let store = SimulatedStore::new(&trial.filled(layout.clone(), layout), clock.clone(), network);
    let oram = new_oram(trial, parameters, store)?;
    let mut random = trial.random();
    let (readings, accesses) = READINGS;
    clock.run(async {
        driver::warm_up(&oram, &mut random, WARM_UP_ACCESSES * parameters.path.capacity).await?;
        let mut sum = 0;
        for _ in 0..readings {
            driver::warm_up(&oram, &mut random, accesses).await?;
            sum += oram.stash_blocks();
        }
        Ok(sum as f64 / readings as f64)
    })?
}

/// Does the job.
fn run(trial: &Trial<'_>, empty: &RootParameters) -> Result<RunResult, ThesisError> {
    let real = PathParameters { block_bytes: trial.payload(), ..empty.path.clone() };
    trial.run(&trial.filled(empty.path.layout(), real.layout()), DriverSettings::CONCURRENT, |store| {
        let oram = new_oram(trial, empty, store)?;
        let trusted_side = trial.trusted_bound(real.stash_bound.into(), oram.trusted_bytes());
        Ok(PreparedOram { oram, trusted_side, period: 0, initial_state: InitialState::Fresh })
    })
}

fn new_oram(
    trial: &Trial<'_>,
    parameters: &RootParameters,
    store: SimulatedStore,
) -> Result<RootOram<SimulatedStore, ChaCha12Rng>, ThesisError> {
    let mut coins = trial.random();
    coins.set_stream(1);
    let oram = root_oram(parameters.clone(), Bucket(0), store, trial.random(), coins);
    oram.map_err(|error| ThesisError::Parameters("Root ORAM", error.into()))
}

#[cfg(test)]
mod tests {
    use super::super::job::Job;
    use super::*;
    use std::time::Duration;

    /// 512 blocks, a quarter trusted, at some ε: the levels in the store, what waits, and the run of a few objects.
    fn levels_waiting_and_run(epsilon: f64) -> (u32, f64, RunResult) {
        let options = Options::standard();
        let steps = (0..40).map(|nth| super::super::Step::whole(nth % 2 == 0, nth % 4)).collect();
        let job = Job { sizes: vec![3 << 16; 4], steps, ..Job::default() };
        let scheme = schemes::by_name("path").unwrap();
        let trial = Trial { oram_bytes: 512 << 16, ..workload_trial(&options, "A", &job, scheme, Some(64)) };
        assert_eq!(trial.application_time, Duration::ZERO);
        let (parameters, mean_waiting_blocks) = highest_top(&trial, 4, epsilon).unwrap().unwrap();
        let levels = parameters.path.leaf_level.0 + 1 - parameters.path.top.0;
        (levels, mean_waiting_blocks, run(&trial, &parameters).unwrap())
    }

    #[test]
    fn a_larger_epsilon_has_fewer_blocks_wait_and_moves_no_more() {
        let (levels, mean_waiting_blocks, result) = levels_waiting_and_run(0.0);
        let (levels_near, waiting_near, ran_near) = levels_waiting_and_run(18.0);
        assert!(
            levels_near < levels || waiting_near < mean_waiting_blocks,
            "{levels_near} {waiting_near}, {levels} {mean_waiting_blocks}"
        );
        assert!(ran_near.usage.bytes_down < result.usage.bytes_down);
        assert_eq!((result.emergencies, ran_near.emergencies), (0, 0));
    }
}
