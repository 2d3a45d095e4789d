//! Path ORAM: Stefanov, van Dijk, Shi, Fletcher, Ren, Yu, Devadas, "Path ORAM: An Extremely Simple Oblivious RAM
//! Protocol", CCS 2013, Figure 1.
//!
//! ```text
//!  1  x <- position[a]
//!  2  position[a] <- UniformRandom(0 .. 2^L - 1)
//!  3  for l in 0, 1, .., L:  S <- S u ReadBucket(P(x, l))
//!  6  data <- read block a from S
//!  7  if op = write:  S <- (S - {(a, data)}) u {(a, data*)}
//! 10  for l in L, L - 1, .., 0:
//! 11      S' <- {(a', data') in S : P(x, l) = P(position[a'], l)}
//! 12      S' <- select min(|S'|, Z) blocks from S'
//! 13      S <- S - S'
//! 14      WriteBucket(P(x, l), S')
//! 16  return data
//! ```
//!
//! Lines 1 to 9 are the on-line work ([`access`](Oram::access)), lines 10 to 15 the off-line work
//! ([`step`](Oram::step)). Between the two the path is **held**: its blocks are in the stash, and its buckets in
//! untrusted memory are stale and not read again. The levels above `top` are always on the trusted side, as part of the
//! stash (see [`Stash`]).
//!
//! **What the trace shows** (adversary `Full`). A batch of n accesses reads, in one operation, the buckets of n paths.
//! These are independent and uniform for any requests. The path of a block is drawn when the block is accessed, and
//! shown only at its next access. A never-mapped block, a dummy access and a second request for a block of the batch
//! show a fresh random path. Each bucket is read once, and held buckets are left out: the coincidence of buckets
//! follows from the paths shown. `step` writes every held bucket back, in one operation; their number follows from the
//! paths too. An access waits while a path in its own subtree (one of 2^top) is being written back. Those paths, and
//! the times when the store completed them, were visible before. The number of blocks in the stash shows only in an
//! emergency. While a largest batch might not fit below the hard bound, accesses wait, and `step` writes held paths
//! back. If no path is held, it does a background eviction: it reads a random path and writes it back. (Ren, Yu,
//! Fletcher, van Dijk, Devadas, "Design Space Exploration and Optimization of Path Oblivious RAM in Secure Processors",
//! ISCA 2013.) The planned bound makes that rarer than 2^-80.
//!
//! **Costs** of a batch of n, with K = L + 1 - top buckets of Z blocks and their headers on each path. On-line: one
//! position map look-up and one round trip of at most n·K slots. Off-line: one round trip of the same number of
//! buckets.
//!
//! **Errors**: those of [`OramError`]. Until the first look-up, a refused batch changes nothing. It is refused if it is
//! wrong, must wait for a write-back, or finds no room in the stash. Any later error, and any future dropped half-way,
//! leaves the scheme poisoned; it then answers [`OramError::Poisoned`] only.

mod backend;
mod buckets;
mod incremental;
#[cfg(feature = "inspect")]
mod inspect;
mod merging;
mod parameters;
mod siblings;
mod snapshot;
mod tree_top;
mod trusted_blocks;
mod write_back;

pub use buckets::BucketsByLevel;
pub use parameters::{MAX_LEVELS_OF_THREE, PathParameters, PathParametersError};
pub use snapshot::{FlatPathSnapshot, PathSnapshot, PathSnapshotError};
pub use tree_top::TreeTopParameters;
pub use trusted_blocks::TrustedPlace;

use crate::concurrency::fifo_lock::FifoLock;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::permutation::sampling;
use crate::position_map::{Lookup, PositionMap};
use crate::stash::Stash;
use crate::store::Store;
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::tree::geometry::Geometry;
use crate::tree::placement::Placement;
use crate::types::{BlockId, Bucket, Leaf, Level, Slot};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::mem;
use rand_core::RngCore;
use tree_top::TreeTop;

/// A Path ORAM over a store, a position map and randomness of the caller's choice.
pub struct PathOram<S, P, R> {
    parameters: PathParameters,
    tree: Geometry,
    store: S,
    positions: P,
    /// The lock of the stash: for an access, or for planning a write-back.
    lock: FifoLock,
    /// The lock of write-backs.
    write_back_lock: FifoLock,
    poison_flag: PoisonFlag,
    state: RefCell<State<R>>,
}

struct State<R> {
    random: R,
    stash: Stash,
    /// The top levels, if they are kept as buckets on the trusted side.
    tree_top: TreeTop,
    /// The paths that were read and are not yet written back, in the order of their reading.
    held: Vec<Leaf>,
    /// The number of paths that stay held when nothing is pending: one if consecutive paths are merged.
    kept: usize,
    /// True if the siblings of a path's buckets are read and written with it.
    has_siblings: bool,
    /// The paths that are being written back.
    in_flight: Vec<Leaf>,
    placement: Placement,
    /// The number of write-backs that came early and background evictions, since it was built or brought back.
    emergencies: u64,
    spare_reading: Reading,
    spare_writing: Writing,
}

/// The work of one `access`, kept so that its buffers are used again.
#[derive(Default)]
struct Reading {
    lookups: Vec<Lookup>,
    paths: Vec<Leaf>,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
}

/// The work of one `step`, kept so that its buffers are used again.
#[derive(Default)]
struct Writing {
    buckets: Vec<Bucket>,
    bytes: Vec<u8>,
}

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> PathOram<S, P, R> {
    /// An empty Path ORAM: a store that was never written, a position map in which nothing is mapped. Its buckets are
    /// numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`PathParametersError`].
    pub fn new(
        parameters: PathParameters,
        first_bucket: Bucket,
        store: S,
        positions: P,
        random: R,
    ) -> Result<Self, PathParametersError> {
        parameters.validate()?;
        Ok(Self::unchecked(parameters, first_bucket, store, positions, random))
    }

    /// An empty Path ORAM with buckets of several sizes, as [`new`](Self::new) makes one with equal buckets.
    pub fn with_buckets(
        buckets: &BucketsByLevel,
        first_bucket: Bucket,
        store: S,
        positions: P,
        random: R,
    ) -> Self {
        let tree = buckets.geometry(first_bucket);
        let top = TreeTop::none(first_bucket);
        Self::over(buckets.parameters().clone(), (tree, top), store, positions, random)
    }

    /// Does the same as `new`, but does not validate the parameters, for simulations of bad ones.
    pub(crate) fn unchecked(
        parameters: PathParameters,
        first_bucket: Bucket,
        store: S,
        positions: P,
        random: R,
    ) -> Self {
        let tree = parameters.geometry(first_bucket);
        Self::over(parameters, (tree, TreeTop::none(first_bucket)), store, positions, random)
    }

    fn over(
        parameters: PathParameters,
        (tree, tree_top): (Geometry, TreeTop),
        store: S,
        positions: P,
        random: R,
    ) -> Self {
        let stash = Stash::new(parameters.block_bytes as usize, parameters.leaf_level, parameters.top);
        PathOram {
            parameters,
            tree,
            store,
            positions,
            lock: FifoLock::default(),
            write_back_lock: FifoLock::default(),
            poison_flag: PoisonFlag::default(),
            state: RefCell::new(State {
                random,
                stash,
                tree_top,
                held: Vec::new(),
                kept: 0,
                has_siblings: false,
                in_flight: Vec::new(),
                placement: Placement::default(),
                emergencies: 0,
                spare_reading: Reading::default(),
                spare_writing: Writing::default(),
            }),
        }
    }

    /// Replaces the randomness: a restored state must not draw what it drew before. The position
    /// map may have randomness of its own, to be reseeded at the same time.
    pub fn reseed(&self, random: R) {
        self.state.borrow_mut().random = random;
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &PathParameters {
        &self.parameters
    }

    /// The shape of the tree: its levels, buckets and slots.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.tree
    }

    /// The position map.
    pub fn positions(&self) -> &P {
        &self.positions
    }

    /// Returns the number of blocks in the stash now: the trusted top and held paths included. Secret: it depends on
    /// the requests.
    pub fn stash_blocks(&self) -> usize {
        self.state.borrow().stash.len()
    }

    /// Returns the number of blocks in the stash now, for each subtree. Secret: only the simulations look.
    #[cfg(feature = "testing")]
    pub(crate) fn waiting(&self) -> Vec<usize> {
        let stash = &self.state.borrow().stash;
        (0..1 << self.tree.top().0).map(|subtree| stash.subtree(subtree).count()).collect()
    }

    /// Returns the number of bytes on the trusted side: stash with the trusted top, buffers of paths, position map.
    pub fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        let buffers = state.spare_reading.bytes.capacity() + state.spare_writing.bytes.capacity();
        state.stash.bytes() + state.tree_top.bytes() + buffers + self.positions.trusted_bytes()
    }

    /// Accesses `n` blocks, the `nth` of them `block(nth)` or a dummy, and lets `serve` read and change each payload
    /// in order. This is Figure 1 up to line 9, for a batch.
    pub(crate) async fn update(
        &self,
        n: usize,
        block: impl Fn(usize) -> Option<BlockId>,
        mut serve: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        if n == 0 {
            return Ok(());
        }
        let _guard = self.lock.acquire().await;
        let operation = admission::begin(self, &self.poison_flag)?;

        let mut reading = self.draw(n, &block);
        self.positions.remap(&mut reading.lookups).await?;
        admission::find_paths(&mut reading.paths, &reading.lookups, &self.tree)?;

        self.until_written(&reading.paths).await?;
        self.plan_read(&mut reading);
        self.store.read_buffer(&reading.slots, &mut reading.bytes).await?;
        self.add_to_stash(&reading)?;

        for nth in 0..n {
            if let Some(block) = block(nth) {
                self.serve(block, &reading.lookups[nth], |payload| serve(nth, payload))?;
            }
        }
        self.state.borrow_mut().spare_reading = reading;
        operation.complete();
        Ok(())
    }

    /// Returns whether a largest batch fits below the hard bound of the stash, however full its paths are.
    ///
    /// An access begins only then, so a background eviction also fits. A write-back leaves at most one block more for
    /// each access, and a path brings fewer blocks than a largest batch.
    fn has_room(&self) -> bool {
        self.stash_blocks() + self.parameters.blocks_per_batch() as usize <= self.hard_bound()
    }

    /// Makes room if there is too little, outside of the schedule. It writes held paths back early. If none is held, it
    /// reads and holds a path that is drawn for this only.
    async fn make_room(&self) -> Result<(), OramError<S::Error>> {
        let pending = self.pending_paths();
        if self.has_room() || pending >= self.max_batch() {
            return Ok(());
        }
        self.state.borrow_mut().emergencies += 1;
        if pending > 0 {
            return Ok(());
        }
        let path = sampling::leaf(&mut self.state.borrow_mut().random, &self.tree);
        self.read_path(path).await
    }

    /// Reads a path for no block, and holds it.
    async fn read_path(&self, path: Leaf) -> Result<(), OramError<S::Error>> {
        let mut reading = mem::take(&mut self.state.borrow_mut().spare_reading);
        reading.paths.clear();
        reading.paths.push(path);
        self.plan_read(&mut reading);
        self.store.read_buffer(&reading.slots, &mut reading.bytes).await?;
        self.add_to_stash(&reading)?;
        self.state.borrow_mut().spare_reading = reading;
        Ok(())
    }

    /// Line 2: a new leaf for every access. Every access draws a path as well, for the case that it turns out to be a
    /// dummy.
    fn draw(&self, n: usize, block: impl Fn(usize) -> Option<BlockId>) -> Reading {
        let State { random, spare_reading, .. } = &mut *self.state.borrow_mut();
        let mut reading = mem::take(spare_reading);
        let Reading { lookups, paths, .. } = &mut reading;
        paths.clear();
        admission::look_up((0..n).map(block), lookups, || {
            let new = sampling::leaf(random, &self.tree);
            paths.push(sampling::leaf(random, &self.tree));
            new
        });
        reading
    }

    /// Waits until no path of these paths' subtrees is being written back.
    async fn until_written(&self, paths: &[Leaf]) -> Result<(), OramError<S::Error>> {
        let subtree = |path: &Leaf| self.tree.subtree(*path);
        let is_apart = || {
            let state = self.state.borrow();
            let meets = |path| state.in_flight.iter().any(|other| subtree(path) == subtree(other));
            !paths.iter().any(meets)
        };
        self.poison_flag.wait_until(is_apart).await
    }

    /// Line 3: plans which buckets are read. All of the paths, but each once, and no bucket that is held. From now on
    /// the paths themselves are held.
    fn plan_read(&self, reading: &mut Reading) {
        let mut state = self.state.borrow_mut();
        reading.slots.clear();
        let mut bytes = 0;
        for path in &reading.paths {
            let below = self.shared_levels(*path, &state.held).max(state.tree_top.levels() as usize);
            for level in self.tree.levels().skip(below) {
                for bucket in self.buckets(level, *path, state.has_siblings) {
                    reading.slots.push(Slot::only(bucket));
                    bytes += self.bucket_bytes(level);
                }
            }
            state.held.push(*path);
        }
        reading.bytes.resize(bytes, 0);
    }

    /// The number of untrusted levels of a path that are also on one of the others: paths share a beginning.
    fn shared_levels(&self, path: Leaf, others: &[Leaf]) -> usize {
        let deepest = others.iter().map(|other| self.tree.deepest_common(path, *other)).max();
        deepest.map_or(0, |level| (level.0 + 1).saturating_sub(self.tree.top().0) as usize)
    }

    /// Line 3: puts all real blocks of the buckets into the stash.
    fn add_to_stash(&self, reading: &Reading) -> Result<(), OramError<S::Error>> {
        let State { stash, tree_top, .. } = &mut *self.state.borrow_mut();
        for path in &reading.paths {
            for level in (0..tree_top.levels()).map(Level) {
                tree_top.empty(self.tree.bucket(level, *path), |block, leaf, payload| {
                    stash.insert_with(block, leaf, payload);
                });
            }
        }
        let mut sealed_blocks = reading.bytes.chunks_exact(self.entry_bytes());
        for slot in &reading.slots {
            let level = self.tree.level_of(slot.bucket);
            let blocks = self.tree.shape(level).blocks as usize;
            for entry in sealed_blocks.by_ref().take(blocks) {
                let (header, payload) = entry.split_at(HEADER_BYTES);
                let Some((block, leaf)) = block_header::read(header) else {
                    continue;
                };
                let (capacity, bucket) = (self.parameters.capacity, (level, slot.bucket));
                self.tree.check_block((block, leaf), capacity, bucket)?;
                if stash.find(block).is_some() {
                    return Err(OramError::Contradiction("a block exists twice"));
                }
                stash.insert_with(block, leaf, payload);
            }
        }
        Ok(())
    }

    /// Lines 6 to 9: the block must be in the stash now. A block that was never mapped begins as zeros.
    fn serve(
        &self,
        block: BlockId,
        lookup: &Lookup,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        let stash = &mut self.state.borrow_mut().stash;
        let handle = admission::claim(stash, block, lookup)?;
        serve(stash.payload_mut(handle));
        Ok(())
    }

    /// A block and its header.
    fn entry_bytes(&self) -> usize {
        HEADER_BYTES + self.parameters.block_bytes as usize
    }

    fn bucket_bytes(&self, level: Level) -> usize {
        self.tree.shape(level).slot_bytes as usize
    }
}

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> Oram for PathOram<S, P, R> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        admission::check_batch(batch, self.bounds())?;
        let n = batch.len();
        let batch = RefCell::new(batch);
        let block = |nth: usize| batch.borrow()[nth].block();
        self.update(n, block, |nth, payload| batch.borrow_mut()[nth].serve(payload)).await
    }

    /// Returns 1 while paths are held or the stash lacks room, and adds the pending steps of the position map.
    fn pending_steps(&self) -> u64 {
        let is_due = self.pending_paths() > 0 || !self.has_room();
        u64::from(is_due) + self.positions.pending_steps()
    }

    /// True as soon as a largest batch's worth of paths is held, and while the next batch might not fit the stash.
    fn must_step(&self) -> bool {
        self.pending_paths() >= self.max_batch() || !self.has_room() || self.positions.must_step()
    }

    /// Writes all held paths back. If no path is held, it does a background eviction if the stash lacks room, and
    /// otherwise one step of the position map.
    async fn step(&self) -> Result<(), OramError<S::Error>> {
        let _write_back_guard = self.write_back_lock.acquire().await;
        let guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        let operation = self.poison_flag.begin();
        self.make_room().await?;
        let writing = self.place();
        drop(guard);
        match writing {
            Some(mut writing) => {
                self.store.write_buffer(&writing.buckets, &mut writing.bytes).await?;
                self.written(writing);
            }
            None => self.positions.step().await?,
        }
        operation.complete();
        Ok(())
    }

    /// Counts the write-backs that came early and the background evictions, those of the position map too.
    fn emergencies(&self) -> u64 {
        self.state.borrow().emergencies + self.positions.emergencies()
    }
}
