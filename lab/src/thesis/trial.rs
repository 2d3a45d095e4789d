//! A trial: a job, a block size and a link, on which a scheme is run.

use super::driver::{self, DriverSettings, JobBlocks, RepeatedJob};
use super::error::ThesisError;
use super::job::{Job, Step};
use super::options::Options;
use super::recorded_accesses::RecordedAccesses;
use super::run_result::{self, FillingTraffic, RunResult};
use crate::virtual_time::{Clock, LinkModel, Network, RequestMapping, SimulatedStore, StoreShape};
use ameles_core::oram::Oram;
use ameles_core::tree::block_header::HEADER_BYTES;
use ameles_core::tree::layout::Layout;
use ameles_store::Usage;
use rand_chacha::ChaCha12Rng;
use rand_core::SeedableRng;
use std::cell::RefCell;
use std::convert::Infallible;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// The number of bytes that sealing adds to a slot: the tag of AES-GCM.
pub(super) const SEALING_BYTES: u64 = 16;
/// The number of bytes of the ORAM of the thesis: 5 GB of 2^30 bytes, for every block size.
pub(super) const ORAM_BYTES: u64 = 5 << 30;

/// A job, and the circumstances in which a scheme does it.
#[derive(Clone, Copy)]
pub(super) struct Trial<'a> {
    pub(super) job: &'a Job,
    /// The number of bytes of the ORAM, for every block size.
    pub(super) oram_bytes: u64,
    /// The size of a block in bytes, as the thesis counts them.
    pub(super) block_bytes: u64,
    /// The link, with its greatest number of requests in flight.
    pub(super) model: LinkModel,
    /// The time that the application takes for each operation, in addition to the store.
    pub(super) application_time: Duration,
    /// True if the job is done once, however short it is.
    pub(super) is_single_run: bool,
    /// The seed of the scheme's randomness.
    pub(super) seed: u64,
    /// True if blocks are as in the thesis's proxy: a sealed slot with its header is as long as a block. The last block
    /// of an object marks its end. Otherwise a block is payload.
    pub(super) has_proxy_slots: bool,
    /// The accesses of the object layer; none if the blocks of objects are accessed directly.
    pub(super) recorded: Option<&'a RecordedAccesses>,
}

/// A scheme that is ready for a trial.
pub(super) struct PreparedOram<O> {
    pub(super) oram: O,
    /// The trusted side of the ORAM.
    pub(super) trusted_side: TrustedSide<O>,
    /// The number of accesses between two evictions or rebuilds.
    pub(super) period: u64,
    /// The state from which it is measured.
    pub(super) initial_state: InitialState,
}

/// The trusted side of a scheme.
pub(super) enum TrustedSide<O> {
    /// The bytes that it must hold, by the scheme's bound.
    Bound(u64),
    /// The peak in the run: a function that returns blocks and bytes of tables.
    Peak(fn(&O) -> (u64, u64)),
}

/// The state of an ORAM before a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InitialState {
    /// The ORAM was just filled. The job runs once, and so does the work that becomes due meanwhile. The thesis ran it
    /// this way.
    Fresh,
    /// The ORAM is in use, after this many accesses. The job is repeated until enough evictions or rebuilds are due.
    InUse(u64),
}

impl<'a> Trial<'a> {
    /// A trial of a job in blocks of `block_bytes` bytes: over the link of the options, in the thesis's ORAM, without
    /// time of the application.
    pub(super) fn of(job: &'a Job, block_bytes: u64, options: &Options) -> Self {
        Trial {
            job,
            oram_bytes: ORAM_BYTES,
            block_bytes,
            model: options.model(),
            application_time: Duration::ZERO,
            is_single_run: false,
            seed: options.seed,
            has_proxy_slots: false,
            recorded: None,
        }
    }

    /// N: blocks of the ORAM.
    pub(super) fn blocks(&self) -> u64 {
        self.oram_bytes / self.block_bytes
    }

    /// Returns the size of a block's payload in bytes.
    pub(super) fn payload(&self) -> u32 {
        let overhead = if self.has_proxy_slots { HEADER_BYTES as u64 + SEALING_BYTES } else { 0 };
        u32::try_from(self.block_bytes - overhead).unwrap_or(u32::MAX)
    }

    /// Randomness for the scheme.
    pub(super) fn random(&self) -> ChaCha12Rng {
        ChaCha12Rng::seed_from_u64(self.seed ^ self.block_bytes)
    }

    /// The blocks of each object, in sequence from the first block on.
    ///
    /// # Errors
    /// [`ThesisError::TooSmall`].
    pub(super) fn places(&self) -> Result<Vec<Range<u64>>, ThesisError> {
        let payload = u64::from(self.payload());
        let mut next = 0;
        let place = |size: &u64| {
            let blocks =
                if self.has_proxy_slots { size / payload + 1 } else { size.div_ceil(payload).max(1) };
            next += blocks;
            next - blocks..next
        };
        let places: Vec<Range<u64>> = self.job.sizes.iter().map(place).collect();
        if next > self.blocks() {
            let (capacity, block_bytes) = (self.blocks(), self.block_bytes);
            return Err(ThesisError::TooSmall { capacity, block_bytes });
        }
        Ok(places)
    }

    /// A store in which every bucket was written, with Ameles's requests. `empty` is the scheme's layout with empty
    /// blocks, and `real` its layout with real blocks.
    pub(super) fn filled(&self, empty: Layout, real: Layout) -> StoreShape {
        let requests = RequestMapping::Ameles;
        StoreShape { empty, real, sealing_bytes: SEALING_BYTES, filled: true, requests }
    }

    /// The trusted side of a scheme with a bound: blocks in its stash, cache or buffers, and bytes of its tables.
    pub(super) fn trusted_bound<O>(&self, blocks: u64, table_bytes: usize) -> TrustedSide<O> {
        TrustedSide::Bound(blocks * self.block_bytes + table_bytes as u64)
    }

    /// Runs a scheme, which `prepare` creates, over a simulated store.
    ///
    /// # Errors
    /// The errors of `prepare`, of the scheme, and [`ThesisError::TooSmall`].
    pub(super) fn run<O: Oram<Error = Infallible>>(
        &self,
        shape: &StoreShape,
        settings: DriverSettings,
        prepare: impl FnOnce(SimulatedStore) -> Result<PreparedOram<O>, ThesisError>,
    ) -> Result<RunResult, ThesisError> {
        let (places, payload) = (self.places()?, self.payload().into());
        let blocks = match self.recorded {
            Some(recorded) => JobBlocks::RecordedAccesses(recorded),
            None => JobBlocks::Objects(&places, payload),
        };
        let (clock, network) = self.link(settings.in_flight);
        let store = SimulatedStore::new(shape, clock.clone(), network.clone());
        let PreparedOram { oram, trusted_side, period, initial_state } = prepare(store)?;
        let count = |step: &Step| step.blocks(&places[step.object], payload).count() as u64;
        let accesses = match self.recorded {
            Some(recorded) => recorded.accesses(),
            None => self.job.steps.iter().map(count).sum(),
        };
        let (warm_up_accesses, repeats) = match initial_state {
            InitialState::Fresh => (0, 1),
            InitialState::InUse(warm_up_accesses) if self.is_single_run => (warm_up_accesses, 1),
            InitialState::InUse(warm_up_accesses) => {
                (warm_up_accesses, run_result::repeats(accesses, period))
            }
        };
        let repeated =
            RepeatedJob { job: self.job, blocks, application_time: self.application_time, repeats };
        let (before, result_without_usage) = clock.run(async {
            driver::warm_up(&oram, &mut self.random(), warm_up_accesses).await?;
            let before = network.borrow().usage();
            let result_without_usage = driver::run_job(&oram, &clock, &repeated, settings).await?;
            Ok::<_, ThesisError>((before, result_without_usage))
        })??;
        let usage = run_result::mean_usage(&network.borrow().usage(), &before, repeats);
        let usage = Usage { stored_bytes: shape.bytes(), ..usage };
        let filling = if shape.filled { self.filling(shape) } else { FillingTraffic::default() };
        let emergencies = oram.emergencies();
        let local_bytes = match trusted_side {
            TrustedSide::Bound(bytes) => bytes,
            TrustedSide::Peak(peak) => {
                let (blocks, tables) = peak(&oram);
                blocks * self.block_bytes + tables
            }
        };
        Ok(RunResult { usage, filling, local_bytes, period, repeats, emergencies, ..result_without_usage })
    }

    /// A clock, and the link at rest.
    pub(super) fn link(&self, in_flight: usize) -> (Rc<Clock>, Rc<RefCell<Network>>) {
        let network = Network::new(LinkModel { in_flight, ..self.model });
        (Rc::new(Clock::default()), Rc::new(RefCell::new(network)))
    }

    fn filling(&self, shape: &StoreShape) -> FillingTraffic {
        let buckets = shape.empty.buckets();
        let records = match shape.requests {
            RequestMapping::Ameles => 0,
            RequestMapping::ThesisProxy { record_bytes } => record_bytes,
        };
        let requests = if records > 0 { 2 * buckets } else { buckets };
        FillingTraffic { requests, bytes: shape.bytes() + buckets * records }
    }
}
