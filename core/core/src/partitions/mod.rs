//! Partitions: Stefanov, Shi, Song, "Towards Practical Oblivious RAM", NDSS 2012, sections 3 and 4. Each block is in
//! one of many sub-ORAMs, which is drawn again at each access. An eviction cache holds the block until its partition is
//! written.
//!
//! ```text
//! to access block v:
//!     p <- position[v];  position[v] <- UniformRandom(partitions)
//!     if v is in the cache:  take a dummy from partition p;  else:  take v from it into the cache
//!     serve the access from the cache
//!     put cached blocks of partition p into it, or dummies
//! and at a public rate, for partition after partition:
//!     put cached blocks of it into it, or dummies
//! ```
//!
//! A dummy is taken from a cached block's own partition, and not from a random one. A random one would reveal whether
//! the block's own partition has been written since.
//!
//! **What the trace shows** (adversary `Full`): how many accesses there were. The partitions that are touched are
//! uniform and independent, for any requests: each was drawn at the previous access, and nothing else followed from it.
//! The sub-ORAM of a partition defines what the partition shows. Work on different partitions runs in parallel. Only
//! one operation works on a partition at a time, so an access waits while one of its partitions is being written.
//! Nothing else makes it wait.
//!
//! **Costs** of a batch of n accesses: n takes, in parallel. Each needs a put, by [`step`](Oram::step) or before the
//! next take of the same partition. `step` also does the puts of the sweep.
//!
//! **Errors**: those of [`OramError`]; [`Backlogged`](OramError::Backlogged) if the longest batch has no room on the
//! trusted side. Then `step` puts the cached blocks of one partition more. This shows, and
//! [`emergencies`](Oram::emergencies) counts it. After a failure of the store, and after a future that was dropped
//! half-way, it answers [`OramError::Poisoned`] only.

mod addressed;
mod cache_bound;
#[cfg(feature = "inspect")]
mod inspect;
mod parameters;
mod sub_oram;

pub use addressed::Addressed;
pub use parameters::PartitionsParameters;
pub use sub_oram::SubOram;

use crate::concurrency::exclusive::Exclusive;
use crate::concurrency::fifo_lock::FifoLock;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::permutation::sampling;
use crate::position_map::Lookup;
use crate::position_map::flat::Positions;
use crate::range::OutOfRange;
use crate::stash::Stash;
use crate::types::{BlockId, Leaf, Level};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use futures_util::future::try_join_all;
use rand_core::RngCore;

/// An ORAM of partitions.
pub struct Partitions<P, R> {
    parameters: PartitionsParameters,
    partitions: Vec<Partition<P>>,
    /// The lock of batches, and that of steps.
    exclusive: Exclusive,
    step_lock: FifoLock,
    /// The partitions with takes, planned or made, that no put has followed yet.
    pending_puts: RefCell<BTreeSet<usize>>,
    /// The blocks that wait in sub-ORAMs, and those in the buffers of takes and puts under way.
    waiting: Cell<usize>,
    buffered: Cell<usize>,
    /// The maximum number of blocks that were ever on the trusted side.
    peak: Cell<usize>,
    state: RefCell<State<R>>,
}

struct Partition<P> {
    sub_oram: P,
    lock: FifoLock,
    /// The numbers of takes that were planned, of takes that were made, and of the puts after them.
    planned: Cell<u64>,
    taken: Cell<u64>,
    put: Cell<u64>,
    /// The number of blocks that wait in the sub-ORAM.
    waiting: Cell<usize>,
}

struct State<R> {
    random: R,
    /// The partition of each block, cached or not, instead of a leaf.
    positions: Positions,
    /// The eviction cache, by partition.
    cache: Stash,
    /// The number of accesses so far.
    accesses: u64,
    /// The number of evictions of the sweep so far.
    swept: u64,
    emergencies: u64,
}

/// A take of a batch: the block, unless the take is a dummy, and the partition that the block belongs to from now on.
struct Take {
    block: Option<BlockId>,
    new: Leaf,
}

impl<P: SubOram, R: RngCore> Partitions<P, R> {
    /// An ORAM over empty sub-ORAMs. `sub_oram` makes that of each partition.
    ///
    /// # Errors
    /// [`OutOfRange`] for parameters that are not valid, or what `sub_oram` returns.
    pub fn new(
        parameters: PartitionsParameters,
        random: R,
        sub_oram: impl FnMut(u32) -> Result<P, OutOfRange>,
    ) -> Result<Self, OutOfRange> {
        parameters.validate()?;
        let partition = |sub_oram| {
            let (lock, planned, taken, put, waiting) = <_>::default();
            Partition { sub_oram, lock, planned, taken, put, waiting }
        };
        let sub_orams = (0..parameters.partitions).map(sub_oram);
        let partitions = sub_orams.map(|made| made.map(partition)).collect::<Result<_, _>>()?;
        let level = Level(parameters.partitions.next_power_of_two().ilog2());
        let state = State {
            random,
            positions: Positions::new(parameters.capacity),
            cache: Stash::new(parameters.block_bytes as usize, level, level),
            accesses: 0,
            swept: 0,
            emergencies: 0,
        };
        let (exclusive, step_lock, pending_puts, waiting, buffered, peak) = <_>::default();
        let state = RefCell::new(state);
        Ok(Partitions {
            parameters,
            partitions,
            exclusive,
            step_lock,
            pending_puts,
            waiting,
            buffered,
            peak,
            state,
        })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &PartitionsParameters {
        &self.parameters
    }

    /// Returns the number of blocks on the trusted side now: the eviction cache, and the blocks that wait in sub-ORAMs.
    /// Secret: it depends on the requests.
    pub fn cached_blocks(&self) -> usize {
        self.state.borrow().cache.len() + self.waiting.get()
    }

    /// The maximum number of blocks that were ever on the trusted side. It includes the eviction cache, the blocks that
    /// wait in sub-ORAMs, and the buffers of takes, puts and rebuilds. Secret.
    pub fn peak_blocks(&self) -> usize {
        self.peak.get()
    }

    /// Returns whether a block is in the eviction cache. Secret: only mutants use it.
    #[cfg(feature = "testing")]
    pub(crate) fn is_cached(&self, block: BlockId) -> bool {
        self.state.borrow().cache.find(block).is_some()
    }

    /// Returns the trusted memory in bytes between takes and puts: the position map, the eviction cache, and what the
    /// sub-ORAMs occupy.
    pub fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        let partitions: usize =
            self.partitions.iter().map(|partition| partition.sub_oram.trusted_bytes()).sum();
        size_of_val(state.positions.words()) + state.cache.bytes() + partitions
    }

    /// Draws a partition for each access and sorts the takes by partition, in the order of their first access. Serves
    /// accesses to blocks that are cached or were never written.
    fn plan(&self, batch: &mut [Access<'_>]) -> Vec<(usize, Vec<Take>)> {
        let mut takes: Vec<(usize, Vec<Take>)> = Vec::new();
        let state = &mut *self.state.borrow_mut();
        let (mut lookups, mut random_partition) = (Vec::new(), Vec::new());
        let partitions = self.partitions.len();
        admission::look_up(batch.iter().map(Access::block), &mut lookups, || {
            let new = Leaf(sampling::below(&mut state.random, partitions) as u64);
            random_partition.push(sampling::below(&mut state.random, partitions));
            new
        });
        for (Lookup { block, new, .. }, random_partition) in lookups.into_iter().zip(random_partition) {
            let old = block.and_then(|block| state.positions.replace(block, new));
            let missing = block.filter(|block| match (state.cache.find(*block), old) {
                (Some(handle), _) => {
                    state.cache.remap(handle, new);
                    false
                }
                (None, None) => {
                    state.cache.insert(*block, new);
                    false
                }
                (None, Some(_)) => true,
            });
            if let Some(served) = block.filter(|_| missing.is_none()) {
                serve(batch, &mut state.cache, served);
            }
            let partition = old.map_or(random_partition, |old| old.0 as usize);
            self.partitions[partition].planned.update(|planned| planned + 1);
            self.pending_puts.borrow_mut().insert(partition);
            let take = Take { block: missing, new };
            match takes.iter_mut().find(|(of, _)| *of == partition) {
                Some((_, takes)) => takes.push(take),
                None => takes.push((partition, vec![take])),
            }
        }
        state.accesses += batch.len() as u64;
        takes
    }

    /// Makes the takes of a batch at one partition.
    async fn take_from(
        &self,
        at: usize,
        takes: Vec<Take>,
        batch: &RefCell<&mut [Access<'_>]>,
    ) -> Result<(), OramError<P::Error>> {
        let partition = &self.partitions[at];
        let _guard = partition.lock.acquire().await;
        let mut payload = vec![0; self.block_bytes()];
        for Take { block, new } in takes {
            self.exclusive.poison_flag().check()?;
            if partition.taken > partition.put {
                self.put_after_take(at).await?;
            }
            let buffer = partition.sub_oram.take_buffer_blocks();
            self.with_buffer(buffer, partition.sub_oram.take(block, &mut payload)).await?;
            partition.taken.update(|taken| taken + 1);
            self.recount_waiting(partition);
            if let Some(block) = block {
                let cache = &mut self.state.borrow_mut().cache;
                cache.insert_with(block, new, &payload);
                serve(&mut batch.borrow_mut(), cache, block);
            }
        }
        self.update_peak();
        Ok(())
    }

    /// Does a take or a put, which holds this many blocks in buffers meanwhile.
    async fn with_buffer<T>(&self, blocks: usize, work: impl Future<Output = T>) -> T {
        self.buffered.update(|all| all + blocks);
        self.update_peak();
        let done = work.await;
        self.buffered.update(|all| all - blocks);
        done
    }

    fn update_peak(&self) {
        let now = self.cached_blocks() + self.buffered.get();
        self.peak.update(|peak| peak.max(now));
    }

    async fn put_after_take(&self, at: usize) -> Result<(), OramError<P::Error>> {
        self.put(at).await?;
        let partition = &self.partitions[at];
        partition.put.update(|put| put + 1);
        if partition.planned == partition.put {
            self.pending_puts.borrow_mut().remove(&at);
        }
        Ok(())
    }

    /// Puts the cached blocks of a partition into the partition, until it has no room.
    async fn put(&self, at: usize) -> Result<(), OramError<P::Error>> {
        let sub_oram = &self.partitions[at].sub_oram;
        let (mut blocks, mut payloads) = (Vec::new(), Vec::new());
        {
            let cache = &mut self.state.borrow_mut().cache;
            let max = sub_oram.max_put_blocks().min(sub_oram.room());
            let handles: Vec<_> = cache.subtree(at).take(max).collect();
            payloads.resize(handles.len() * self.block_bytes(), 0);
            for (nth, handle) in handles.into_iter().enumerate() {
                blocks.push(cache.block(handle));
                cache.read(handle, &mut payloads[nth * self.block_bytes()..][..self.block_bytes()]);
                cache.remove(handle);
            }
        }
        let buffer = blocks.len() + sub_oram.put_buffer_blocks();
        self.with_buffer(buffer, sub_oram.put(&blocks, &payloads)).await?;
        self.recount_waiting(&self.partitions[at]);
        Ok(())
    }

    /// Updates the count of the blocks that wait in a sub-ORAM.
    fn recount_waiting(&self, partition: &Partition<P>) {
        let now = partition.sub_oram.waiting_blocks();
        self.waiting.update(|all| all + now - partition.waiting.replace(now));
    }

    /// Puts with the lock of the partition: the pending put of its last take, or an eviction of the sweep.
    async fn put_locked(&self, at: usize, is_pending: bool) -> Result<(), OramError<P::Error>> {
        let partition = &self.partitions[at];
        let _guard = partition.lock.acquire().await;
        self.exclusive.poison_flag().check()?;
        match is_pending {
            true if partition.taken > partition.put => self.put_after_take(at).await,
            // The next batch has put already.
            true => Ok(()),
            false if partition.taken > partition.put => {
                self.put_after_take(at).await?;
                self.put(at).await
            }
            false => self.put(at).await,
        }
    }

    /// Returns whether a largest batch fits below the hard bound of the trusted side.
    fn has_room(&self) -> bool {
        self.cached_blocks() + self.max_batch() <= self.parameters.cache_bound as usize
    }

    /// Returns the number of evictions of the sweep that are due.
    fn due(&self) -> u64 {
        let state = self.state.borrow();
        self.parameters.swept_after(state.accesses).saturating_sub(state.swept)
    }
}

/// Serves all accesses to a block that is in the cache, in their order.
fn serve(batch: &mut [Access<'_>], cache: &mut Stash, block: BlockId) {
    let Some(handle) = cache.find(block) else { return };
    for access in batch.iter_mut().filter(|access| access.block() == Some(block)) {
        admission::serve(access, cache, handle);
    }
}

impl<P: SubOram, R: RngCore> Oram for Partitions<P, R> {
    type Error = P::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<P::Error>> {
        let serve = async |batch: &mut [Access<'_>]| {
            let takes = self.plan(batch);
            let batch = RefCell::new(batch);
            try_join_all(takes.into_iter().map(|(at, takes)| self.take_from(at, takes, &batch))).await?;
            Ok(())
        };
        self.exclusive.access(self, batch, serve).await
    }

    fn pending_steps(&self) -> u64 {
        u64::from(!self.pending_puts.borrow().is_empty() || self.due() > 0 || !self.has_room())
    }

    fn must_step(&self) -> bool {
        !self.has_room()
    }

    /// Makes the pending puts in parallel.
    async fn step(&self) -> Result<(), OramError<P::Error>> {
        let _step_guard = self.step_lock.acquire().await;
        self.exclusive.poison_flag().check()?;
        let mut puts: Vec<(usize, bool)> = self.pending_puts.borrow().iter().map(|at| (*at, true)).collect();
        let mut due = self.due();
        if puts.is_empty() && due == 0 {
            if self.has_room() {
                return Ok(());
            }
            self.state.borrow_mut().emergencies += 1;
            due = 1;
        }
        let swept = self.state.borrow().swept;
        let partitions = self.partitions.len() as u64;
        puts.extend((swept..swept + due).map(|nth| ((nth % partitions) as usize, false)));
        self.state.borrow_mut().swept += due;
        let operation = self.exclusive.poison_flag().begin();
        try_join_all(puts.into_iter().map(|(at, is_pending)| self.put_locked(at, is_pending))).await?;
        operation.complete();
        Ok(())
    }

    fn emergencies(&self) -> u64 {
        self.state.borrow().emergencies
    }
}
