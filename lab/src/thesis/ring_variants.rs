//! Ring ORAM in a trial: as the thesis ran it, and as Ameles plans it. Both begin full.

use super::driver::DriverSettings;
use super::error::ThesisError;
use super::run_result::RunResult;
use super::trial::{InitialState, PreparedOram, Trial};
use crate::virtual_time::{RequestMapping, SimulatedStore, StoreShape};
use ameles_core::position_map::flat::FlatPositionMap;
use ameles_core::schemes::ring::{RingBucket, RingFilling, RingObjective, RingOram, RingParameters};
use ameles_core::snapshot::incremental::{IncrementalSnapshot, Parts, Payloads};
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::types::{BlockId, Level};
use rand_chacha::ChaCha12Rng;
use std::convert::Infallible;

/// Z, S and A of the thesis (4.4, from Tables 4 and 5 of Ring ORAM's paper), and its stash.
const Z: u32 = 33;
const S: u32 = 63;
const A: u32 = 48;
const STASH: u32 = 115;

/// The prices of S3 in dollars: of a GET, of a PUT, and of a byte that leaves S3. Bytes that enter are free.
const GET: f64 = 0.0004 / 1000.0;
const PUT: f64 = 0.005 / 1000.0;
const EGRESS: f64 = 0.09 / (1u64 << 30) as f64;

type Ring = RingOram<SimulatedStore, FlatPositionMap<Infallible>, ChaCha12Rng>;

/// The thesis's parameters, with its proxy's sequential requests.
pub(super) fn proxy_ring(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let parameters = thesis_parameters(trial, 1);
    // Four bytes for each count, slot and block; a byte per slot that marks whether it was read.
    let record_bytes = u64::from(4 + 4 * (Z + Z + S) + (Z + S));
    run_ring(
        trial,
        &parameters,
        RequestMapping::ThesisProxy { record_bytes },
        DriverSettings::SEQUENTIAL,
        InitialState::Fresh,
    )
}

/// The thesis's parameters, driven as Ameles drives a scheme.
pub(super) fn thesis_ring(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    run_concurrent_ring(trial, &thesis_parameters(trial, 16))
}

/// The plan that Ameles makes for the lowest bill at S3's prices, with a quarter of the capacity on the trusted side.
pub(super) fn planned_ring(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    run_concurrent_ring(trial, &parameters_for_bill(trial))
}

/// Runs a ring as Ameles drives it, in use for so long that every bucket was evicted once.
fn run_concurrent_ring(trial: &Trial<'_>, parameters: &RingParameters) -> Result<RunResult, ThesisError> {
    let eviction_round = u64::from(parameters.eviction_rate) << parameters.leaf_level.0;
    let initial_state = InitialState::InUse(eviction_round);
    run_ring(trial, parameters, RequestMapping::Ameles, DriverSettings::CONCURRENT, initial_state)
}

/// The parameters of that plan.
pub(super) fn parameters_for_bill(trial: &Trial<'_>) -> RingParameters {
    let egress = EGRESS * trial.block_bytes as f64;
    let dollars =
        RingObjective { get: GET, put: PUT, slot_read: egress, slot_written: 0.0, slot_waited: 0.0 };
    let trusted = trial.blocks() / 4;
    RingParameters::for_objective(trial.blocks(), trial.payload(), trusted, (16, u32::MAX), dollars)
}

/// The tree of the thesis: `2^⌈lg ⌊N/Z⌋⌉ − 1` buckets of Z + S slots.
///
/// Our analysis needs leaf buckets with room for their share of a full ORAM and three deviations of it, which is more
/// than Z. The number of slots stays the same.
fn thesis_parameters(trial: &Trial<'_>, max_batch: u32) -> RingParameters {
    let levels = (trial.blocks() / u64::from(Z)).max(2).next_power_of_two().ilog2();
    let leaf_level = Level(levels - 1);
    let share = trial.blocks() as f64 / f64::from(leaf_level.0).exp2();
    let leaf_blocks = (share + 3.0 * share.sqrt()).ceil() as u32;
    RingParameters {
        capacity: trial.blocks(),
        block_bytes: trial.payload(),
        leaf_level,
        top: Level(0),
        eviction_rate: A,
        reads: S + max_batch - 1,
        inner: RingBucket { blocks: Z, slots: Z + S },
        leaf: RingBucket { blocks: leaf_blocks.max(Z), slots: Z + S },
        max_batch,
        stash_bound: STASH + max_batch,
        slice_slots: u32::MAX,
    }
}

/// Runs a Ring ORAM whose blocks are all in the tree from the beginning.
fn run_ring(
    trial: &Trial<'_>,
    parameters: &RingParameters,
    requests: RequestMapping,
    settings: DriverSettings,
    initial_state: InitialState,
) -> Result<RunResult, ThesisError> {
    let empty = RingParameters { block_bytes: 0, ..parameters.clone() };
    empty.validate().map_err(|error| ThesisError::Parameters("Ring ORAM", error.into()))?;
    let shape = StoreShape { requests, ..trial.filled(empty.layout(), parameters.layout()) };
    trial.run(&shape, settings, |store| {
        let ring = filled_ring(&empty, store, trial.random())?;
        let trusted_side = trial.trusted_bound(parameters.stash_bound.into(), ring.trusted_bytes());
        Ok(PreparedOram { oram: ring, trusted_side, period: empty.eviction_rate.into(), initial_state })
    })
}

/// A Ring ORAM that was filled.
fn filled_ring(
    parameters: &RingParameters,
    store: SimulatedStore,
    random: ChaCha12Rng,
) -> Result<Ring, ThesisError> {
    let mut filling = RingFilling::draw(parameters, |_| true, random.clone());
    for (level, bucket) in filling.buckets() {
        for (slot, block, leaf) in filling.place(level, bucket) {
            let mut header = [0; HEADER_BYTES];
            block_header::write(&mut header, block, leaf);
            store.preload(slot, &header);
        }
    }
    let filled = filling.finish();
    let mut payloads = EmptyPayloads(filled.stash.iter());
    let parts = Parts {
        tables: filled.tables,
        rest: &filled.rest,
        order: &filled.stash,
        payloads: &mut payloads,
        payload_source: None,
    };
    let ring = Ring::resume(parameters.clone(), parts, store, random);
    ring.map_err(|error| ThesisError::Parameters("Ring ORAM", error.into()))
}

/// The payloads of blocks that have no bytes.
struct EmptyPayloads<'a>(std::slice::Iter<'a, BlockId>);

impl Payloads for EmptyPayloads<'_> {
    fn next_block(&mut self) -> Option<BlockId> {
        self.0.next().copied()
    }

    fn fill(&mut self, _: &mut [u8]) -> bool {
        true
    }
}
