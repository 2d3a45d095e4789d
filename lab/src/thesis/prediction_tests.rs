//! Tests of a plan's model: it must predict what the lab measures for the same work.

use super::job::{Job, Step};
use super::options::Options;
use super::run_result::RunResult;
use super::trial::Trial;
use super::{partitions, ring_variants, schemes};
use crate::plan::traffic::{self, Traffic};
use crate::plan::{Figures, ObjectSizes, Work};
use crate::virtual_time::{LinkModel, ServerTime};
use ameles_core::schemes::curious::CuriousParameters;
use ameles_core::schemes::oblivistore::ObliviStoreParameters;
use ameles_store::{BitsPerSecond, LinkSpeed, PriceTable, Usage};
use ameles_vault::JournalPlace;
use rand_chacha::ChaCha12Rng;
use rand_core::{RngCore, SeedableRng};
use std::time::Duration;

/// The part by which a prediction may be off.
const TOLERANCE: f64 = 0.15;

/// Inputs drawn at random.
struct RandomInputs {
    job: Job,
    work: Work,
    block_bytes: u64,
}

/// Some hundreds of reads and writes of objects of a few sizes, over some link.
fn draw(seed: u64) -> RandomInputs {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    let mut between = |min: u64, max: u64| min + random.next_u64() % (max - min + 1);
    let block_bytes = [16, 64, 256][between(0, 2) as usize] << 10;
    let capacity = between(1024, 4096) * block_bytes;
    let sizes: Vec<u64> = (0..8).map(|_| between(1, 24) * block_bytes).collect();
    let steps: Vec<Step> =
        (0..400).map(|_| Step::whole(between(0, 1) == 1, between(0, 7) as usize)).collect();
    let reads = steps.iter().filter(|step| !step.writes).count() as f64;
    let line = BitsPerSecond::mega(between(50, 1000));
    let speed = LinkSpeed { round_trip: Duration::from_millis(between(5, 60)), up: line, down: line };
    let millis = Duration::from_millis(between(0, 20));
    let table: Vec<String> = steps.iter().map(|step| sizes[step.object].to_string()).collect();
    let work = Work {
        capacity,
        sizes: ObjectSizes::from_table(&table.join("\n")).unwrap(),
        reads,
        writes: steps.len() as f64 - reads,
        speed,
        server: ServerTime { get: millis, put: millis },
        journal: JournalPlace::Disk,
        prices: PriceTable::shipped().get("s3-standard").unwrap().clone(),
        trusted: capacity,
        block_bytes: vec![block_bytes],
    };
    RandomInputs { job: Job { sizes, steps, ..Job::default() }, work, block_bytes }
}

/// Runs a scheme on random inputs. Returns the ratios of the predicted to the measured bill without storage, and of the
/// predicted to the measured time.
fn ratios(seed: u64, scheme: &str) -> (f64, f64) {
    let RandomInputs { job, work, block_bytes } = draw(seed);
    let (speed, server) = (work.speed, work.server);
    let trial = Trial {
        oram_bytes: work.capacity,
        model: LinkModel { speed, server, request_bandwidth: BitsPerSecond(0), in_flight: 64 },
        seed,
        ..Trial::of(&job, block_bytes, &Options::standard())
    };
    let batch = {
        let blocks = |size: u64| size.div_ceil(block_bytes);
        work.sizes.mean(|size| blocks(size) as f64) / work.sizes.mean(|size| blocks(size).div_ceil(16) as f64)
    };
    let (blocks, payload) = (trial.blocks(), trial.payload());
    let (result, traffic): (RunResult, Traffic) = match scheme {
        "ring" => (
            ring_variants::planned_ring(&trial).unwrap(),
            traffic::ring(&ring_variants::parameters_for_bill(&trial), batch),
        ),
        "path" => {
            let parameters = schemes::quarter_path_parameters(&trial).unwrap();
            (schemes::planned_path(&trial).unwrap(), traffic::path(&parameters, batch))
        }
        "curious" => {
            let parameters = CuriousParameters::for_capacity(blocks, payload, 16);
            (partitions::concurrent_curious(&trial).unwrap(), traffic::curious(&parameters, batch))
        }
        _ => {
            let parameters = ObliviStoreParameters::for_capacity(blocks, payload, 16);
            (partitions::concurrent_oblivistore(&trial).unwrap(), traffic::oblivistore(&parameters, batch))
        }
    };
    let predicted = Figures::of(&work, block_bytes, &traffic);
    let spent = work.prices.bill(&Usage { stored_bytes: 0, ..result.usage }).spent();
    let time = result.runtime.as_secs_f64() / job.steps.len() as f64;
    (predicted.bill.spent() / spent, predicted.time.as_secs_f64() / time)
}

/// Asserts that bills are predicted to 15 % for inputs drawn at random, and times to `time_tolerance`.
fn assert_predicts(scheme: &str, time_tolerance: f64) {
    let mut off = Vec::new();
    // The model was fitted to the first four.
    for seed in 0..20 {
        let (bill, time) = ratios(seed, scheme);
        if (bill - 1.0).abs() > TOLERANCE || (time - 1.0).abs() > time_tolerance {
            off.push(format!("seed {seed}: {bill:.2} of the bill, {time:.2} of the time"));
        }
    }
    assert!(off.is_empty(), "{scheme}: {}", off.join("; "));
}

#[test]
fn the_bills_and_times_of_what_a_vault_runs_are_predicted() {
    assert_predicts("ring", TOLERANCE);
    assert_predicts("path", TOLERANCE);
}

#[test]
fn the_bills_of_partitions_are_predicted_and_their_times_roughly() {
    assert_predicts("curious", 1.5 * TOLERANCE);
    assert_predicts("oblivistore", 1.5 * TOLERANCE);
}
