//! The schemes of partitions in a trial: CURIOUS and ObliviStore, as the thesis ran them and as Ameles drives a scheme.

use super::driver::DriverSettings;
use super::error::ThesisError;
use super::run_result::RunResult;
use super::trial::{InitialState, PreparedOram, Trial, TrustedSide};
use ameles_core::partitions::{Partitions, SubOram};
use ameles_core::schemes::curious::{CuriousParameters, Logged, curious, log_layout};
use ameles_core::schemes::oblivistore::{ObliviStoreParameters, oblivistore};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bucket;
use rand_chacha::ChaCha12Rng;
use rand_core::RngCore;
use std::rc::Rc;

/// The number of accesses that the thesis's proxy has in flight at most.
const PROXY_BATCH: u32 = 64;
/// The number of slots of the proxy's log: this many for each partition and each power of two of partitions.
const LOG: u64 = 4;
/// The evictions of the proxy's sweep, and the accesses for which the proxy makes them. Its code makes 1.25 evictions
/// for each access, without the one of the partition that was read. It rounds up three times in four.
const PROXY_SWEEP: (u32, u32) = (3, 4);

/// The thesis's proxy: parallel requests, but one access at a time.
const PROXY: DriverSettings = DriverSettings { batch: PROXY_BATCH as u64, ..DriverSettings::CONCURRENT };

/// CURIOUS with the thesis's trees and its log.
pub(super) fn thesis_curious(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let of = |block_bytes| CuriousParameters::for_capacity(trial.blocks(), block_bytes, PROXY_BATCH);
    let (empty, real) = (of(0), of(trial.payload()));
    let partitions = u64::from(real.partitions.partitions);
    let slots = (LOG * partitions * u64::from(partitions.next_power_of_two().ilog2())).max(LOG);
    let logged = |tree: Layout, bytes| {
        let mut layout = tree;
        layout.append(&log_layout(slots, bytes));
        layout
    };
    let first = Bucket(empty.layout().buckets());
    let shape = trial.filled(logged(empty.layout(), 0), logged(real.layout(), trial.payload() as usize));
    trial.run(&shape, PROXY, |store| {
        let store = Rc::new(store);
        let oram = curious(&empty, Bucket(0), &store, randomness(trial));
        let oram = oram.map_err(|error| ThesisError::Parameters("CURIOUS", error.into()))?;
        let oram = Logged::new(oram, slots, first, store);
        let oram = oram.map_err(|error| ThesisError::Parameters("CURIOUS", error.into()))?;
        let trusted_side = TrustedSide::Peak(|logged: &Logged<_, _>| peak_trusted(logged.oram()));
        Ok(PreparedOram { oram, trusted_side, period: 0, initial_state: InitialState::Fresh })
    })
}

/// CURIOUS without its log, with Ameles's driver.
pub(super) fn concurrent_curious(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let of = |block_bytes| CuriousParameters::for_capacity(trial.blocks(), block_bytes, 16);
    let (empty, real) = (of(0), of(trial.payload()));
    trial.run(&trial.filled(empty.layout(), real.layout()), DriverSettings::CONCURRENT, |store| {
        let oram = curious(&empty, Bucket(0), &Rc::new(store), randomness(trial));
        let oram = oram.map_err(|error| ThesisError::Parameters("CURIOUS", error.into()))?;
        Ok(PreparedOram {
            oram,
            trusted_side: TrustedSide::Peak(peak_trusted),
            period: 0,
            initial_state: InitialState::Fresh,
        })
    })
}

/// ObliviStore with the proxy's rate of evictions.
pub(super) fn thesis_oblivistore(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let of = |block_bytes| {
        let mut parameters = ObliviStoreParameters::for_capacity(trial.blocks(), block_bytes, PROXY_BATCH);
        (parameters.partitions.sweep_evictions, parameters.partitions.sweep_accesses) = PROXY_SWEEP;
        parameters
    };
    run_oblivistore(trial, &of(0), &of(trial.payload()), PROXY)
}

/// ObliviStore with its paper's rate, as Ameles drives a scheme.
pub(super) fn concurrent_oblivistore(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let of = |block_bytes| ObliviStoreParameters::for_capacity(trial.blocks(), block_bytes, 16);
    run_oblivistore(trial, &of(0), &of(trial.payload()), DriverSettings::CONCURRENT)
}

fn run_oblivistore(
    trial: &Trial<'_>,
    empty: &ObliviStoreParameters,
    real: &ObliviStoreParameters,
    settings: DriverSettings,
) -> Result<RunResult, ThesisError> {
    trial.run(&trial.filled(empty.layout(), real.layout()), settings, |store| {
        let oram = oblivistore(empty, Bucket(0), &Rc::new(store), randomness(trial));
        let oram = oram.map_err(|error| ThesisError::Parameters("ObliviStore", error.into()))?;
        Ok(PreparedOram {
            oram,
            trusted_side: TrustedSide::Peak(peak_trusted),
            period: 0,
            initial_state: InitialState::Fresh,
        })
    })
}

/// Randomness for the choice of partitions, and for each partition.
fn randomness(trial: &Trial<'_>) -> impl FnMut() -> ChaCha12Rng {
    let (first, mut stream) = (trial.random(), 0);
    move || {
        let mut random = first.clone();
        stream += 1;
        random.set_stream(stream);
        random
    }
}

/// The peak of the trusted side: blocks of the eviction cache with the buffers of paths and rebuilds, and bytes of
/// tables. The thesis prints a peak, too.
fn peak_trusted<P: SubOram, R: RngCore>(oram: &Partitions<P, R>) -> (u64, u64) {
    (oram.peak_blocks() as u64, oram.trusted_bytes() as u64)
}
