//! Ring ORAM (Ren et al., "Constants Count: Practical Improvements to Oblivious RAM", USENIX Security 2015).
//!
//! An access reads **one slot** of every bucket on the block's path (Algorithm 1, `ReadPath`), not the whole bucket.
//! Every A accesses one path is evicted in reverse lexicographic order (`EvictPath`); a bucket that was read S times
//! before its turn came is rewritten alone (`EarlyReshuffle`). Nothing is computed on the server: the XOR technique
//! of the paper's section 3.2 is left out, and bucket metadata stay on the trusted side.
//!
//! **Trace.** An access shows one slot, uniform among the unread ones, of every bucket on a uniform path, whatever
//! was asked. Evictions follow the count of accesses, reshuffles the count of reads of a bucket. A bucket whose
//! eviction is in flight is skipped by accesses, and an access that meets a bucket whose eviction is being *read*
//! waits for it: both follow from the path and the schedule, which are public. Adversary: `Full`.
//!
//! **Costs.** On line: one round trip, `L - top + 1` slots for each access; all reads of a batch go out together.
//! Off line, every A accesses: one round trip that reads at most Z unread slots of each bucket of a path, and one
//! that writes the path's buckets. [`RingParameters::slots_per_access`] adds them up. Two steps of `idle` may be in
//! flight: the second one reads while the first one writes, so that a link is busy both ways.
//!
//! **Errors.** See [`OramError`]; after a `Store` or `Contradiction` error the state is torn.

mod parameters;

pub use parameters::{RingBucket, RingParameters, RingParametersError};

use crate::block_header::{self, HEADER_BYTES};
use crate::bucket_metadata::BucketMetadata;
use crate::oram::{Access, Oram, OramError, check_batch};
use crate::position_map::flat::{FlatPositionMap, Positions};
use crate::position_map::{Lookup, PositionMap};
use crate::stash::{Handle, Stash, StashSnapshot};
use crate::store::Store;
use crate::tree::eviction_order::reverse_lexicographic;
use crate::tree::geometry::Geometry;
use crate::tree::placement::Placement;
use crate::turns::{Turn, Turns};
use crate::words::{BlockId, Bucket, Leaf, Level, Slot};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::RefCell;
use core::future::poll_fn;
use core::task::{Poll, Waker};
use rand_core::RngCore;

/// How many rewrites may be on their way to the store.
const MOST_REWRITES: usize = 2;

/// A Ring ORAM over a store, a position map and a source of randomness.
pub struct Ring<S, P, R> {
    parameters: RingParameters,
    tree: Geometry,
    store: S,
    positions: P,
    /// One access at a time, and one step of `idle` up to its write.
    access_turns: Turns,
    idle_turns: Turns,
    state: RefCell<State<R>>,
}

struct State<R> {
    random: R,
    stash: Stash,
    metadata: BucketMetadata,
    /// Accesses so far; with the evictions done, it says what is owed.
    accesses: u64,
    evictions: u64,
    emergencies: u64,
    /// The last eviction has begun and has not filled its buckets yet.
    unfilled: bool,
    /// Buckets read often enough to be reshuffled early.
    worn: VecDeque<Bucket>,
    /// Buckets whose eviction has its reads in flight, and the count of such rounds of reads so far.
    reading: Vec<Bucket>,
    rounds: u64,
    /// The access that waits for the end of such a round.
    waiting: Option<Waker>,
    /// What is on its way to the store: at most two rewrites, of different buckets.
    writing: Vec<Rewrite>,
    /// The step of `idle` that waits for one of them.
    waiting_to_read: Option<Waker>,
    /// Blocks of the batch in flight: they stay in the stash until it is served.
    pinned: Vec<(BlockId, Leaf)>,
    placement: Placement,
    buffers: Vec<Vec<u8>>,
    /// An operation failed or was dropped half-way.
    torn: bool,
}

/// Buckets that are being written, and the blocks in them that still stand in the stash as well.
struct Rewrite {
    round: u64,
    buckets: Vec<Bucket>,
    placed: Vec<Placed>,
}

#[derive(Clone, Copy)]
struct Placed {
    block: BlockId,
    level: Level,
    slot: Slot,
}

/// The trusted state between two steps, all that a later process needs to go on.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct RingSnapshot {
    parameters: RingParameters,
    positions: Positions,
    stash: StashSnapshot,
    metadata: BucketMetadata,
    accesses: u64,
    evictions: u64,
    emergencies: u64,
    worn: VecDeque<Bucket>,
}

/// One slot of a round of reads, and the block that must be in it.
#[derive(Clone, Copy)]
struct Fetch {
    slot: Slot,
    block: Option<BlockId>,
}

/// The reads of one batch.
struct ReadPlan {
    fetches: Vec<Fetch>,
    /// The round of an eviction's reads that brings what these reads leave out.
    meets: Option<u64>,
}

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> Ring<S, P, R> {
    /// An empty Ring ORAM. The store's layout is `parameters.geometry().layout()`.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn new(
        parameters: RingParameters,
        store: S,
        positions: P,
        random: R,
    ) -> Result<Self, RingParametersError> {
        parameters.validate()?;
        let tree = parameters.geometry();
        let state = State {
            random,
            stash: Stash::new(parameters.block_bytes as usize, parameters.leaf_level, parameters.top),
            metadata: BucketMetadata::new(&tree),
            accesses: 0,
            evictions: 0,
            emergencies: 0,
            unfilled: false,
            worn: VecDeque::new(),
            reading: Vec::new(),
            rounds: 0,
            waiting: None,
            writing: Vec::new(),
            waiting_to_read: None,
            pinned: Vec::new(),
            placement: Placement::default(),
            buffers: Vec::new(),
            torn: false,
        };
        let (access_turns, idle_turns) = Default::default();
        Ok(Ring { parameters, tree, store, positions, access_turns, idle_turns, state: RefCell::new(state) })
    }

    /// The public parameters.
    pub fn parameters(&self) -> &RingParameters {
        &self.parameters
    }

    /// The store beneath.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Replaces the source of randomness, for instance at a checkpoint.
    pub fn reseed(&self, random: R) {
        self.state.borrow_mut().random = random;
    }

    /// Blocks in the stash now (tree top included) and the most there ever were; blocks of an eviction in flight
    /// are counted while they are here.
    pub fn stash_blocks(&self) -> (usize, usize) {
        let state = self.state.borrow();
        (state.stash.len(), state.stash.peak())
    }

    /// Evictions begun so far, early reshuffles not counted. Public.
    pub fn evictions(&self) -> u64 {
        self.state.borrow().evictions
    }

    /// Bytes on the trusted side: position map, stash with tree top, bucket metadata.
    pub fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        self.positions.trusted_bytes() + state.stash.bytes() + state.metadata.bytes()
    }

    /// `ReadPath` for each access of the batch (Algorithm 1, lines 1 to 11), all reads in one round trip.
    async fn read_paths(&self, lookups: &[Lookup]) -> Result<(), OramError<S::Error>> {
        let plan = self.state.borrow_mut().plan_reads(lookups, &self.tree, &self.parameters);
        self.fetch(&plan.fetches).await?;
        poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            if state.torn {
                return Poll::Ready(Err(OramError::Torn));
            }
            if state.reading.is_empty() || plan.meets != Some(state.rounds) {
                return Poll::Ready(Ok(()));
            }
            state.waiting = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Reads slots in one round trip and takes their real blocks into the stash.
    async fn fetch(&self, fetches: &[Fetch]) -> Result<(), OramError<S::Error>> {
        let slot_bytes = HEADER_BYTES + self.parameters.block_bytes as usize;
        let slots: Vec<Slot> = fetches.iter().map(|fetch| fetch.slot).collect();
        let mut buffer = self.state.borrow_mut().buffer(slots.len() * slot_bytes);
        if !slots.is_empty() {
            self.store.read(&slots, &mut buffer).await?;
        }
        let mut state = self.state.borrow_mut();
        for (fetch, slot) in fetches.iter().zip(buffer.chunks_exact(slot_bytes)) {
            if let Some(block) = fetch.block {
                state.absorb(block, slot, &self.tree)?;
            }
        }
        state.buffers.push(buffer);
        Ok(())
    }

    /// Algorithm 1, lines 12 to 19: the blocks are in the stash now; answer and update.
    fn serve(&self, batch: &mut [Access<'_>], lookups: &[Lookup]) -> Result<(), OramError<S::Error>> {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        for (access, lookup) in batch.iter_mut().zip(lookups) {
            let Some(block) = access.block() else {
                continue;
            };
            let handle = match state.stash.find(block) {
                Some(handle) => handle,
                None if lookup.block.is_some() && lookup.old.is_none() => {
                    state.stash.insert(block, lookup.new)
                }
                None => return Err(OramError::Contradiction("a block is on no bucket of its path")),
            };
            match access {
                Access::Read(_, into) => into.copy_from_slice(state.stash.payload(handle)),
                Access::Write(_, from) => state.stash.payload_mut(handle).copy_from_slice(from),
                Access::Dummy => {}
            }
        }
        state.pinned.clear();
        Ok(())
    }

    /// `EvictPath` and `EarlyReshuffle` (Algorithms 2 and 3): what is unread of these buckets comes into the stash,
    /// then they are rewritten from it. The turn ends with the reads: those of the next step overlap this write.
    async fn rewrite(
        &self,
        turn: Turn<'_>,
        leaf: Leaf,
        buckets: &[(Level, Bucket)],
    ) -> Result<(), OramError<S::Error>> {
        let fetches = self.state.borrow_mut().plan_evacuation(buckets, &self.tree);
        self.fetch(&fetches).await?;
        let (round, buffer) = self.state.borrow_mut().refill(leaf, buckets, &self.tree);
        drop(turn);
        let numbers: Vec<Bucket> = buckets.iter().map(|(_, bucket)| *bucket).collect();
        self.store.write(&numbers, &buffer).await?;
        let mut state = self.state.borrow_mut();
        state.written(round);
        state.buffers.push(buffer);
        Ok(())
    }

    /// Waits until no more than one rewrite is being written, and that one of other buckets than the next path's.
    async fn await_writes(&self) -> Result<(), OramError<S::Error>> {
        poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            if state.torn {
                return Poll::Ready(Err(OramError::Torn));
            }
            let next = reverse_lexicographic(state.evictions, self.tree.leaf_level());
            let meets = self.tree.path(next).any(|(_, bucket)| state.in_flight(bucket));
            if state.writing.len() < MOST_REWRITES && !meets {
                return Poll::Ready(Ok(()));
            }
            state.waiting_to_read = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl<S: Store, R: RngCore> Ring<S, FlatPositionMap<S::Error>, R> {
    /// The trusted state. `None` while an access or a step of `idle` is in flight, and once the state is torn.
    ///
    /// While [`must_idle`](Oram::must_idle) is false, at most `stash_bound - max_batch` blocks are in its stash.
    pub fn snapshot(&self) -> Option<RingSnapshot> {
        let state = self.state.borrow();
        let idles = !self.idle_turns.is_free() || !state.writing.is_empty();
        let quiet = self.access_turns.is_free() && !idles && !state.torn;
        quiet.then(|| RingSnapshot {
            parameters: self.parameters.clone(),
            positions: self.positions.snapshot(),
            stash: state.stash.snapshot(),
            metadata: state.metadata.clone(),
            accesses: state.accesses,
            evictions: state.evictions,
            emergencies: state.emergencies,
            worn: state.worn.clone(),
        })
    }

    /// Goes on from a snapshot. `None` if the snapshot contradicts itself: every mapped block must be in one place,
    /// on the path that it is mapped to, and the counts of reads must be those of the slots.
    pub fn restore(snapshot: RingSnapshot, store: S, random: R) -> Option<Self> {
        let parameters = snapshot.parameters.clone();
        parameters.validate().ok()?;
        snapshot.agrees(&parameters.geometry()).then_some(())?;
        let positions = FlatPositionMap::new(snapshot.positions);
        let ring = Ring::new(parameters, store, positions, random).ok()?;
        {
            let mut state = ring.state.borrow_mut();
            state.stash.restore(&snapshot.stash).then_some(())?;
            state.metadata = snapshot.metadata;
            state.accesses = snapshot.accesses;
            state.evictions = snapshot.evictions;
            state.emergencies = snapshot.emergencies;
            state.worn = snapshot.worn;
        }
        Some(ring)
    }
}

impl RingSnapshot {
    /// Whether its parts agree with one another.
    fn agrees(&self, tree: &Geometry) -> bool {
        let parameters = &self.parameters;
        let sizes = self.positions.blocks() == parameters.capacity
            && self.metadata.fits(tree, parameters.capacity)
            && self.emergencies <= self.evictions;
        sizes && self.reads_agree(tree) && self.blocks_agree(tree)
    }

    /// Whether each bucket's count of reads is that of its slots, and just the worn ones are to be reshuffled.
    fn reads_agree(&self, tree: &Geometry) -> bool {
        let most = self.parameters.reads;
        let before = self.parameters.reads_before_reshuffle();
        let mut worn: Vec<Bucket> = self.worn.iter().copied().collect();
        worn.sort_unstable();
        let mut found = Vec::new();
        for (level, bucket) in tree.all_buckets() {
            let reads = self.metadata.reads(tree, bucket);
            let unread = |real| self.metadata.unread(tree, level, bucket, real).count() as u32;
            if reads > most || reads + unread(true) + unread(false) != tree.shape(level).slots {
                return false;
            }
            if reads > before {
                found.push(bucket);
            }
        }
        worn == found
    }

    /// Whether every mapped block, and no other, stands in one place, which is on its path.
    fn blocks_agree(&self, tree: &Geometry) -> bool {
        let mut leaves: Vec<Option<Leaf>> =
            (0..self.positions.blocks()).map(|block| self.positions.get(BlockId(block))).collect();
        // Each block that is met is struck out: it must not be met again, and none must be left.
        let mut strike = |block: BlockId| leaves.get_mut(block.0 as usize).and_then(Option::take);
        let in_stash =
            self.stash.blocks().all(|(block, leaf)| leaf.0 < tree.leaves() && strike(block) == Some(leaf));
        let in_tree = tree.all_buckets().all(|(level, bucket)| {
            self.metadata.unread(tree, level, bucket, true).all(|slot| {
                let leaf = self.metadata.block(tree, level, slot).and_then(&mut strike);
                leaf.is_some_and(|leaf| leaf.0 < tree.leaves() && tree.bucket(level, leaf) == bucket)
            })
        });
        in_stash && in_tree && leaves.iter().all(Option::is_none)
    }
}

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> Oram for Ring<S, P, R> {
    type Error = S::Error;

    fn capacity(&self) -> u64 {
        self.parameters.capacity
    }

    fn block_bytes(&self) -> usize {
        self.parameters.block_bytes as usize
    }

    fn max_batch(&self) -> usize {
        self.parameters.max_batch as usize
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        check_batch(batch, self.parameters.capacity, self.block_bytes(), self.max_batch())?;
        let _turn = self.access_turns.take().await;
        if self.state.borrow().torn {
            return Err(OramError::Torn);
        }
        self.state.borrow().room_for(batch.len(), &self.parameters)?;
        if self.must_idle() {
            return Err(OramError::Owed);
        }
        let unfinished = Unfinished(&self.state);
        let mut lookups = self.state.borrow_mut().admit(batch, &self.parameters);
        self.positions.remap(&mut lookups).await?;
        self.read_paths(&lookups).await?;
        self.serve(batch, &lookups)?;
        unfinished.finished();
        Ok(())
    }

    fn owed(&self) -> u64 {
        let state = self.state.borrow();
        let emergency = u64::from(state.needs_emergency(&self.parameters));
        state.behind(&self.parameters) + state.worn.len() as u64 + emergency + self.positions.owed()
    }

    fn must_idle(&self) -> bool {
        let state = self.state.borrow();
        let worn_out = |bucket: &Bucket| {
            !state.in_flight(*bucket)
                && state.metadata.reads(&self.tree, *bucket) > self.parameters.reads_before_reshuffle()
        };
        state.is_late(&self.parameters)
            || state.worn.iter().any(worn_out)
            || state.needs_emergency(&self.parameters)
            || self.positions.must_idle()
    }

    async fn idle(&self) -> Result<(), OramError<S::Error>> {
        let turn = self.idle_turns.take().await;
        self.await_writes().await?;
        let unfinished = Unfinished(&self.state);
        let due = self.state.borrow_mut().next_due(&self.parameters, &self.tree);
        match due {
            Some(Due::Reshuffle(bucket)) => {
                let level = self.tree.level_of(bucket);
                let leaf =
                    Leaf((bucket.0 - self.tree.first_of(level).0) << (self.parameters.leaf_level - level.0));
                self.rewrite(turn, leaf, &[(level, bucket)]).await?;
            }
            Some(Due::Evict(leaf)) => {
                let path: Vec<(Level, Bucket)> = self.tree.path(leaf).collect();
                self.rewrite(turn, leaf, &path).await?;
            }
            None => self.positions.idle().await?,
        }
        unfinished.finished();
        Ok(())
    }

    fn emergencies(&self) -> u64 {
        self.state.borrow().emergencies
    }
}

/// What `idle` does next.
enum Due {
    Reshuffle(Bucket),
    Evict(Leaf),
}

impl<R: RngCore> State<R> {
    /// Refuses a batch that could overflow the stash.
    fn room_for<E: core::error::Error + 'static>(
        &self,
        accesses: usize,
        parameters: &RingParameters,
    ) -> Result<(), OramError<E>> {
        let (held, most) = (self.resident(), parameters.stash_bound as usize);
        if held + accesses > most { Err(OramError::StashFull { held, most }) } else { Ok(()) }
    }

    /// Draws each block's next leaf. A second request for a block becomes a dummy access: it is served from what the
    /// first one brings.
    fn admit(&mut self, batch: &[Access<'_>], parameters: &RingParameters) -> Vec<Lookup> {
        self.accesses += batch.len() as u64;
        let mut lookups: Vec<Lookup> = Vec::with_capacity(batch.len());
        for access in batch {
            let asked = access.block();
            let block = asked.filter(|block| lookups.iter().all(|before| before.block != Some(*block)));
            lookups.push(Lookup { block, new: self.draw_leaf(parameters.leaf_level), old: None });
        }
        lookups
    }

    fn plan_reads(&mut self, lookups: &[Lookup], tree: &Geometry, parameters: &RingParameters) -> ReadPlan {
        let mut plan = ReadPlan { fetches: Vec::new(), meets: None };
        for lookup in lookups {
            let leaf = match (lookup.block, lookup.old) {
                (Some(_), Some(old)) => old,
                // Never mapped, or a dummy: any path.
                _ => self.draw_leaf(parameters.leaf_level),
            };
            if let Some(block) = lookup.block {
                self.pin(block, lookup.new, tree);
            }
            for (level, bucket) in tree.path(leaf) {
                if self.reading.contains(&bucket) {
                    plan.meets = Some(self.rounds);
                }
                if self.in_flight(bucket) || !self.metadata.is_written(tree, bucket) {
                    continue;
                }
                let slot = self.choose_slot(lookup.block, level, bucket, tree);
                let block = self.metadata.read(tree, level, slot);
                if self.metadata.reads(tree, bucket) == parameters.reads_before_reshuffle() + 1 {
                    self.worn.push_back(bucket);
                }
                plan.fetches.push(Fetch { slot, block });
            }
        }
        plan
    }

    /// The block's own slot where it is here; otherwise a random unread dummy; and, where the bucket holds fewer
    /// dummies than S, at last a random unread block.
    fn choose_slot(
        &mut self,
        wanted: Option<BlockId>,
        level: Level,
        bucket: Bucket,
        tree: &Geometry,
    ) -> Slot {
        if let Some(slot) = wanted.and_then(|block| self.metadata.find(tree, level, bucket, block)) {
            return slot;
        }
        let dummies = self.metadata.unread(tree, level, bucket, false).count();
        let real = dummies == 0;
        let among = if real { self.metadata.unread(tree, level, bucket, true).count() } else { dummies };
        let nth = self.draw_below(among);
        self.metadata.unread(tree, level, bucket, real).nth(nth).expect("S reads always find an unread slot")
    }

    /// The batch will need this block: it gets its new leaf now, and stays in the stash until it is served.
    fn pin(&mut self, block: BlockId, leaf: Leaf, tree: &Geometry) {
        self.pinned.push((block, leaf));
        for Rewrite { placed, .. } in &mut self.writing {
            if let Some(at) = placed.iter().position(|placed| placed.block == block) {
                let placed = placed.swap_remove(at);
                self.metadata.forget(tree, placed.level, placed.slot);
            }
        }
        if let Some(handle) = self.stash.find(block) {
            self.stash.remap(handle, leaf);
        }
    }

    /// Takes a fetched block into the stash. A block that the batch in flight asks for already has a new leaf.
    fn absorb<E: core::error::Error + 'static>(
        &mut self,
        expected: BlockId,
        slot: &[u8],
        tree: &Geometry,
    ) -> Result<(), OramError<E>> {
        let Some((block, leaf)) = block_header::read(slot) else {
            return Err(OramError::Contradiction("a slot holds a dummy where a block must be"));
        };
        if block != expected || leaf.0 >= tree.leaves() || self.stash.find(block).is_some() {
            return Err(OramError::Contradiction("a slot holds another block than it must"));
        }
        let leaf = self.pinned.iter().find(|(pinned, _)| *pinned == block).map_or(leaf, |(_, leaf)| *leaf);
        self.stash.insert_with(block, leaf, &slot[HEADER_BYTES..]);
        Ok(())
    }

    /// The reads of an eviction: of each bucket every unread block, and unread dummies up to Z slots in all.
    fn plan_evacuation(&mut self, buckets: &[(Level, Bucket)], tree: &Geometry) -> Vec<Fetch> {
        let mut fetches = Vec::new();
        self.rounds += 1;
        for (level, bucket) in buckets.iter().copied() {
            self.reading.push(bucket);
            if !self.metadata.is_written(tree, bucket) {
                continue;
            }
            let first = fetches.len();
            for slot in self.metadata.unread(tree, level, bucket, true) {
                fetches.push(Fetch { slot, block: self.metadata.block(tree, level, slot) });
            }
            let mut dummies: Vec<Slot> = self.metadata.unread(tree, level, bucket, false).collect();
            let most = tree.shape(level).blocks as usize;
            while fetches.len() - first < most && !dummies.is_empty() {
                let slot = dummies.swap_remove(self.draw_below(dummies.len()));
                fetches.push(Fetch { slot, block: None });
            }
            // In the order of the slots, so that the order says nothing of which are real.
            fetches[first..].sort_unstable_by_key(|fetch| fetch.slot);
        }
        fetches
    }

    /// Places stash blocks into the buckets and lays out their plaintext, each block in a random slot.
    /// Returns the round, which names the rewrite.
    fn refill(&mut self, leaf: Leaf, buckets: &[(Level, Bucket)], tree: &Geometry) -> (u64, Vec<u8>) {
        self.reading.clear();
        self.unfilled = false;
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
        let mut placement = core::mem::take(&mut self.placement);
        let room = |level: Level| {
            let rewritten = buckets.iter().any(|(at, _)| *at == level);
            if rewritten { tree.shape(level).blocks as usize } else { 0 }
        };
        let is_placed = |block| {
            self.writing.iter().any(|rewrite| rewrite.placed.iter().any(|placed| placed.block == block))
        };
        let free = |block| self.pinned.iter().all(|(pinned, _)| *pinned != block) && !is_placed(block);
        placement.plan(&self.stash, tree, leaf, room, free);
        let bytes = |level: Level| (tree.shape(level).slots * tree.shape(level).slot_bytes) as usize;
        let mut buffer = self.buffer(buckets.iter().map(|(level, _)| bytes(*level)).sum());
        let mut placed = Vec::new();
        let mut start = 0;
        for (level, bucket) in buckets.iter().copied() {
            self.metadata.rewrite(tree, level, bucket);
            let into = &mut buffer[start..start + bytes(level)];
            placed.extend(self.lay_out(placement.chosen(level), level, bucket, tree, into));
            start += bytes(level);
        }
        self.placement = placement;
        let buckets = buckets.iter().map(|(_, bucket)| *bucket).collect();
        self.writing.push(Rewrite { round: self.rounds, buckets, placed });
        (self.rounds, buffer)
    }

    fn lay_out(
        &mut self,
        chosen: &[Handle],
        level: Level,
        bucket: Bucket,
        tree: &Geometry,
        into: &mut [u8],
    ) -> Vec<Placed> {
        let slot_bytes = tree.shape(level).slot_bytes as usize;
        let mut free: Vec<u32> = (0..tree.shape(level).slots).collect();
        let mut placed = Vec::with_capacity(chosen.len());
        for handle in chosen.iter().copied() {
            let slot = Slot { bucket, index: free.swap_remove(self.draw_below(free.len())) };
            let block = self.stash.block(handle);
            let place = &mut into[slot.index as usize * slot_bytes..][..slot_bytes];
            block_header::write(place, block, self.stash.leaf(handle));
            place[HEADER_BYTES..].copy_from_slice(self.stash.payload(handle));
            self.metadata.put(tree, level, slot, block);
            placed.push(Placed { block, level, slot });
        }
        placed
    }

    /// The rewritten buckets are in the store: their blocks leave the stash.
    fn written(&mut self, round: u64) {
        for Placed { block, .. } in
            self.writing.extract_if(.., |rewrite| rewrite.round == round).flat_map(|rewrite| rewrite.placed)
        {
            let handle = self.stash.find(block).expect("a placed block stays until its bucket is written");
            self.stash.remove(handle);
        }
        if let Some(waiting) = self.waiting_to_read.take() {
            waiting.wake();
        }
    }

    fn next_due(&mut self, parameters: &RingParameters, tree: &Geometry) -> Option<Due> {
        while let Some(bucket) = self.worn.pop_front() {
            // An eviction may have rewritten it since.
            if self.metadata.reads(tree, bucket) > parameters.reads_before_reshuffle() {
                return Some(Due::Reshuffle(bucket));
            }
        }
        let emergency = self.needs_emergency(parameters);
        if !emergency && self.behind(parameters) == 0 {
            return None;
        }
        self.emergencies += u64::from(emergency);
        self.unfilled = true;
        let leaf = reverse_lexicographic(self.evictions, tree.leaf_level());
        self.evictions += 1;
        Some(Due::Evict(leaf))
    }

    /// Blocks that count against the stash bound: those that only wait for a write to complete do not.
    fn resident(&self) -> usize {
        self.stash.len() - self.writing.iter().map(|rewrite| rewrite.placed.len()).sum::<usize>()
    }

    /// Scheduled evictions that have not begun.
    fn behind(&self, parameters: &RingParameters) -> u64 {
        let scheduled = self.accesses / u64::from(parameters.eviction_rate);
        scheduled.saturating_sub(self.evictions - self.emergencies)
    }

    /// Whether more than one scheduled eviction has not filled its buckets: no access may come before.
    fn is_late(&self, parameters: &RingParameters) -> bool {
        self.behind(parameters) + u64::from(self.unfilled) > 1
    }

    /// Whether the next batch may need more room than there is. What the schedule has come first may make some.
    fn needs_emergency(&self, parameters: &RingParameters) -> bool {
        let room = self.resident() + parameters.max_batch as usize <= parameters.stash_bound as usize;
        !room && !self.is_late(parameters)
    }

    fn in_flight(&self, bucket: Bucket) -> bool {
        self.reading.contains(&bucket) || self.writing.iter().any(|rewrite| rewrite.buckets.contains(&bucket))
    }

    fn draw_leaf(&mut self, leaf_level: u32) -> Leaf {
        Leaf(self.random.next_u64() & ((1 << leaf_level) - 1))
    }

    /// Uniform in `0..bound`, but for a bias below 2^-32.
    fn draw_below(&mut self, bound: usize) -> usize {
        ((u128::from(self.random.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A buffer of zeros, reused.
    fn buffer(&mut self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.buffers.pop().unwrap_or_default();
        buffer.clear();
        buffer.resize(bytes, 0);
        buffer
    }
}

/// Marks the state torn unless it is told that the operation came to its end.
struct Unfinished<'a, R>(&'a RefCell<State<R>>);

impl<R> Unfinished<'_, R> {
    fn finished(self) {
        core::mem::forget(self);
    }
}

impl<R> Drop for Unfinished<'_, R> {
    fn drop(&mut self) {
        // Borrowed only while a panic unwinds through the state itself.
        let Ok(mut state) = self.0.try_borrow_mut() else {
            return;
        };
        state.torn = true;
        for waiting in [state.waiting.take(), state.waiting_to_read.take()].into_iter().flatten() {
            waiting.wake();
        }
    }
}
