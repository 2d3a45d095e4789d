//! Ring ORAM (Ren et al., "Constants Count: Practical Improvements to Oblivious RAM", USENIX Security 2015), section 3.
//!
//! ```text
//! Access(a, op, data*)                                                                          Algorithm 1
//!     l' <- UniformRandom(0 .. 2^L - 1);  l <- PositionMap[a];  PositionMap[a] <- l'
//!     data <- ReadPath(l, a);  if data = none:  data <- read and remove a from Stash
//!     if op = write:  data <- data*
//!     Stash <- Stash u (a, l', data)
//!     round <- round + 1 mod A;  if round = 0:  EvictPath()
//!     EarlyReshuffle(l)
//! ReadPath(l, a)                                                                                Algorithm 2
//!     for i in 0, 1, .., L:  offset <- GetBlockOffset(P(l, i), a)
//!         read P(l, i, offset), which is invalid from now on;  P(l, i).count <- P(l, i).count + 1
//! EvictPath()                                                                                   Algorithm 3
//!     l <- the bits of G, mirrored;  G <- G + 1
//!     for i in 0, 1, .., L:  Stash <- Stash u ReadBucket(P(l, i))
//!     for i in L, L - 1, .., 0:  WriteBucket(P(l, i), Stash);  P(l, i).count <- 0
//! EarlyReshuffle(l)                                                                             Algorithm 4
//!     for each bucket of the path with count >= S:  the same for it alone
//! ```
//!
//! `Access` without its last two lines is the on-line work ([`access`](Oram::access)). The work that these two lines
//! make due is the off-line work ([`step`](Oram::step)). Nothing is computed on the server: the XOR technique of the
//! paper's section 3.2 is left out, and bucket metadata stay on the trusted side.
//!
//! **What the trace shows** (adversary `Full`). An access shows one slot, uniform among the unread ones, of every
//! bucket on a uniform path, for any requests. Evictions follow the count of accesses, reshuffles the count of reads
//! of a bucket. Accesses skip a bucket whose eviction is in flight, or that an eviction holds between two of its
//! [slices](RingParameters::slices). An access to a bucket whose eviction is being *read* waits for it. All follow from
//! the path and the schedule, which are public.
//!
//! **Costs.** On line: one round trip, `L - top + 1` slots for each access; all reads of a batch go out together.
//! Off line, every A accesses: one round trip that reads at most Z unread slots of each bucket of a path, and one
//! that writes the path's buckets; or a pair of round trips for each slice. [`RingParameters::slots_per_access`] adds
//! them up. Two steps may be in flight: the second one reads while the first one writes, so that a link is busy both
//! ways. Four batches may be in flight.
//!
//! **Errors**: those of [`OramError`]. A batch that is wrong, that comes while too much work is pending, or that
//! could exceed the stash's bound is refused before anything changes. Any later error, and any future dropped
//! half-way, leaves the scheme poisoned; it then answers [`OramError::Poisoned`] only.

mod backend;
mod eviction;
mod exponents;
mod filling;
mod in_flight;
mod incremental;
#[cfg(feature = "inspect")]
mod inspect;
mod origins;
mod parameters;
mod planner;
mod poisson;
mod redraw;
mod slices;
mod snapshot;
mod stash_bound;
mod state;
mod traffic;
mod validate;

pub use filling::{FilledRing, RingFilling};
pub use parameters::{RingBucket, RingParameters, RingParametersError};
pub use redraw::{RingProgress, RingRedraw};
pub use snapshot::{RingSnapshot, RingSnapshotError};
#[cfg(feature = "testing")]
pub(crate) use stash_bound::StashBound;
pub use traffic::{RingObjective, RingTraffic};

use crate::buffer_pool::Buffers;
use crate::concurrency::fifo_lock::FifoLock;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::permutation::sampling;
use crate::position_map::{Lookup, PositionMap};
use crate::schemes::ring::in_flight::{BatchNumber, Round};
use crate::schemes::ring::slices::Slices;
use crate::stash::{Handle, Stash};
use crate::store::Store;
use crate::tree::block_header::HEADER_BYTES;
use crate::tree::bucket_metadata::BucketMetadata;
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Bucket, Slot};
use alloc::vec::Vec;
use core::cell::RefCell;
use rand_core::RngCore;
use state::State;

/// The number of rewrites that may be on their way to the store.
const MAX_REWRITES: usize = 2;
/// The number of batches that may be on their way.
pub const MAX_BATCHES: usize = 4;

/// A Ring ORAM over a store, a position map and randomness of the caller's choice.
pub struct RingOram<S, P, R> {
    parameters: RingParameters,
    tree: Geometry,
    slices: Slices,
    store: S,
    positions: P,
    /// The lock of accesses, which a batch holds while it is planned, and the lock of steps, which a step holds up to
    /// its write.
    access_lock: FifoLock,
    step_lock: FifoLock,
    poison_flag: PoisonFlag,
    buffers: Buffers,
    state: RefCell<State<R>>,
}

/// The reads of a batch.
struct PathReads {
    batch: BatchNumber,
    fetches: Vec<Fetch>,
    /// The round of an eviction's reads that brings what these reads leave out.
    meets: Option<Round>,
}

/// A slot of a round of reads, and the block that must be in it.
#[derive(Clone, Copy)]
struct Fetch {
    slot: Slot,
    block: Option<BlockId>,
}

impl<S, P, R> RingOram<S, P, R>
where
    S: Store,
    P: PositionMap<Error = S::Error>,
    R: RngCore,
{
    /// An empty Ring ORAM: a store that was never written, a position map in which nothing is mapped. The store's
    /// layout is `parameters.layout()`.
    ///
    /// # Errors
    /// [`RingParametersError`].
    pub fn new(
        parameters: RingParameters,
        store: S,
        positions: P,
        random: R,
    ) -> Result<Self, RingParametersError> {
        parameters.validate()?;
        let metadata = BucketMetadata::new(&parameters.geometry());
        Ok(Self::over(parameters, metadata, store, positions, random))
    }

    /// A Ring ORAM over a store whose blocks are where the metadata have them.
    fn over(parameters: RingParameters, metadata: BucketMetadata, store: S, positions: P, random: R) -> Self {
        RingOram {
            state: RefCell::new(State::new(&parameters, metadata, random)),
            tree: parameters.geometry(),
            slices: Slices::of(&parameters),
            parameters,
            store,
            positions,
            access_lock: FifoLock::default(),
            step_lock: FifoLock::default(),
            poison_flag: PoisonFlag::default(),
            buffers: Buffers::default(),
        }
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &RingParameters {
        &self.parameters
    }

    /// The position map.
    pub fn positions(&self) -> &P {
        &self.positions
    }

    /// The store of the ORAM.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Continues with other randomness: a state that was brought back must not draw what it drew before.
    pub fn reseed(&self, random: R) {
        self.state.borrow_mut().random = random;
    }

    /// Returns the number of blocks in the stash now: the trusted top included, and those of an eviction in flight
    /// while they are here. Secret: it depends on the requests.
    pub fn stash_blocks(&self) -> usize {
        self.state.borrow().stash.len()
    }

    /// The maximum number of blocks that were ever in the stash at once. Secret.
    pub fn stash_peak(&self) -> usize {
        self.state.borrow().stash.peak()
    }

    /// Returns the number of evictions begun so far, early reshuffles not counted. Public.
    pub fn evictions(&self) -> u64 {
        self.state.borrow().schedule.begun.div_ceil(self.slices.count() as u64)
    }

    /// Returns the number of bytes on the trusted side: stash with the trusted top, bucket metadata, position map.
    pub fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        self.positions.trusted_bytes() + state.stash.bytes() + state.metadata.bytes()
    }

    /// Accesses `n` blocks, the `nth` of them `block(nth)` or a dummy, and lets `serve` read and change each in order.
    async fn update(
        &self,
        n: usize,
        block: impl Fn(usize) -> Option<BlockId>,
        serve: impl FnMut(usize, &mut Stash, Handle),
    ) -> Result<(), OramError<S::Error>> {
        let guard = self.access_lock.acquire().await;
        self.poison_flag.check()?;
        let resident = self.state.borrow().resident();
        let more = n * self.parameters.max_blocks_per_access() as usize;
        admission::check_room(resident, more, self.parameters.max_stash_blocks() as usize)?;
        if self.must_step() {
            return Err(OramError::Backlogged);
        }
        let operation = self.poison_flag.begin();
        let mut lookups = self.look_up((0..n).map(&block));
        self.positions.remap(&mut lookups).await?;
        self.check_positions(&lookups)?;
        let reads = self.plan_reads(&lookups);
        drop(guard);
        self.read_paths(&reads).await?;
        self.serve(reads.batch, &lookups, block, serve)?;
        operation.complete();
        self.poison_flag.wake_waiters();
        Ok(())
    }

    /// Does the first line of Algorithm 1: counts the accesses and draws each block's next leaf.
    fn look_up(&self, blocks: impl ExactSizeIterator<Item = Option<BlockId>>) -> Vec<Lookup> {
        let state = &mut *self.state.borrow_mut();
        state.schedule.accesses += blocks.len() as u64;
        let mut lookups = Vec::with_capacity(blocks.len());
        admission::look_up(blocks, &mut lookups, || sampling::leaf_of_64_bits(&mut state.random, &self.tree));
        lookups
    }

    /// Refuses a leaf that the tree does not have: a recursive map reads its leaves from a store.
    fn check_positions(&self, lookups: &[Lookup]) -> Result<(), OramError<S::Error>> {
        let is_known = |lookup: &Lookup| lookup.old.is_none_or(|leaf| leaf.0 < self.tree.leaves());
        let all_known = lookups.iter().all(is_known);
        all_known.then_some(()).ok_or(OramError::Contradiction("a position lies beyond the tree"))
    }

    /// Does Algorithm 2 for each access of the batch, all reads in one round trip. Then waits for the round of an
    /// eviction's reads that brings what these reads left out, and for the batches before.
    async fn read_paths(&self, reads: &PathReads) -> Result<(), OramError<S::Error>> {
        self.fetch(&reads.fetches).await?;
        let arrived = reads.fetches.iter().filter(|fetch| fetch.block.is_some());
        arrived.for_each(|_| self.state.borrow_mut().in_flight.on_arrived());
        let may_be_served = || {
            let state = self.state.borrow();
            state.in_flight.is_next(reads.batch)
                && !reads.meets.is_some_and(|round| state.in_flight.lasts(round))
        };
        self.poison_flag.wait_until(may_be_served).await
    }

    /// Plans to read one slot of every bucket of each path, except of buckets that were never written or are in flight.
    fn plan_reads(&self, lookups: &[Lookup]) -> PathReads {
        let (mut fetches, mut meets) = (Vec::new(), None);
        let state = &mut *self.state.borrow_mut();
        let batch = state.in_flight.begin_batch();
        for lookup in lookups {
            let leaf = match (lookup.block, lookup.old) {
                (Some(_), Some(old)) => old,
                // Never mapped, or a dummy: any path.
                _ => sampling::leaf_of_64_bits(&mut state.random, &self.tree),
            };
            if let Some(block) = lookup.block {
                state.pin(batch, (block, lookup.new), &self.tree);
                state.forget_origins(block, leaf, &self.tree);
            }
            for (level, bucket) in self.tree.path(leaf) {
                meets = state.in_flight.round_of(bucket).or(meets);
                if state.in_flight.has(bucket) || !state.metadata.is_written(&self.tree, bucket) {
                    continue;
                }
                let slot = state.get_block_offset(lookup.block, level, bucket, &self.tree);
                let block = state.metadata.read(&self.tree, level, slot);
                state.note_origin(
                    block.filter(|block| lookup.block != Some(*block)),
                    level,
                    slot,
                    &self.tree,
                );
                if state.metadata.reads(&self.tree, bucket) == self.parameters.reads_before_reshuffle() + 1 {
                    state.worn.push_back(bucket);
                }
                fetches.push(Fetch { slot, block });
            }
        }
        let (new, read) = (lookups.iter().filter(|lookup| lookup.is_new()), fetches.iter());
        state.in_flight.expect(new.count() + read.filter(|fetch: &&Fetch| fetch.block.is_some()).count());
        PathReads { batch, fetches, meets }
    }

    /// Reads slots in one round trip and takes their real blocks into the stash.
    async fn fetch(&self, fetches: &[Fetch]) -> Result<(), OramError<S::Error>> {
        let slot_bytes = HEADER_BYTES + self.block_bytes();
        let slots: Vec<Slot> = fetches.iter().map(|fetch| fetch.slot).collect();
        let mut buffer = self.buffers.room(slots.len() * slot_bytes);
        if !slots.is_empty() {
            self.store.read_buffer(&slots, &mut buffer).await?;
        }
        let state = &mut *self.state.borrow_mut();
        for (fetch, slot) in fetches.iter().zip(buffer.chunks_exact(slot_bytes)) {
            if let Some(block) = fetch.block {
                state.add_to_stash(block, slot, &self.tree)?;
            }
        }
        self.buffers.give_back(buffer);
        Ok(())
    }

    /// Does the rest of Algorithm 1: the blocks are in the stash now, with their new leaves; answers and updates.
    fn serve(
        &self,
        batch: BatchNumber,
        lookups: &[Lookup],
        block: impl Fn(usize) -> Option<BlockId>,
        mut serve: impl FnMut(usize, &mut Stash, Handle),
    ) -> Result<(), OramError<S::Error>> {
        let State { stash, in_flight, .. } = &mut *self.state.borrow_mut();
        for (nth, lookup) in lookups.iter().enumerate() {
            let Some(block) = block(nth) else {
                continue;
            };
            if lookup.is_new() {
                in_flight.on_arrived();
            }
            let handle = match stash.find(block) {
                Some(handle) => handle,
                None if lookup.is_new() => {
                    stash.insert(block, in_flight.pinned_to(block).unwrap_or(lookup.new))
                }
                None => return Err(OramError::Contradiction("a block is on no bucket of its path")),
            };
            serve(nth, stash, handle);
        }
        in_flight.on_served(batch);
        Ok(())
    }
}

impl<S, P, R> Oram for RingOram<S, P, R>
where
    S: Store,
    P: PositionMap<Error = S::Error>,
    R: RngCore,
{
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        admission::check_batch(batch, self.bounds())?;
        let (n, batch) = (batch.len(), RefCell::new(batch));
        let block = |nth: usize| batch.borrow()[nth].block();
        let serve = |nth: usize, stash: &mut Stash, handle| {
            admission::serve(&mut batch.borrow_mut()[nth], stash, handle);
        };
        self.update(n, block, serve).await
    }

    /// Counts the reshuffles and slices of evictions that are due, and the pending steps of the position map.
    fn pending_steps(&self) -> u64 {
        let state = self.state.borrow();
        let emergency = u64::from(state.needs_emergency(&self.parameters));
        state.behind() + state.worn.len() as u64 + emergency + self.positions.pending_steps()
    }

    /// True while more slices are due than an eviction has, a bucket may run out of unread slots, or the stash could
    /// overflow.
    fn must_step(&self) -> bool {
        let state = self.state.borrow();
        let worn_out = |bucket: &Bucket| {
            !state.in_flight.has(*bucket)
                && state.metadata.reads(&self.tree, *bucket) > self.parameters.reads_before_reshuffle()
        };
        state.is_late()
            || state.worn.iter().any(worn_out)
            || state.needs_emergency(&self.parameters)
            || self.positions.must_step()
    }

    /// Does one reshuffle or one slice of an eviction; when neither is due, one step of the position map.
    async fn step(&self) -> Result<(), OramError<S::Error>> {
        self.do_step().await
    }

    /// 4: a batch reads while others do. They are served in their order.
    fn max_concurrent_batches(&self) -> usize {
        MAX_BATCHES
    }

    /// 2: the second one reads while the first one writes.
    fn max_concurrent_steps(&self) -> usize {
        MAX_REWRITES
    }

    /// Counts the slices of evictions outside of the schedule.
    fn emergencies(&self) -> u64 {
        self.state.borrow().schedule.emergencies
    }
}
