//! Freecursive ORAM: a PosMap look-aside buffer (PLB) and a unified tree. (Fletcher, Ren, Kwon, van Dijk, Devadas,
//! "Freecursive ORAM: \[Nearly\] Free Recursion and Integrity Verification for Position-based Oblivious RAM", ASPLOS
//! 2015, section 4.) Options are the compressed PosMap (section 5) and PMMAC (section 6).
//!
//! ```text
//! to access block a_0, where PosMap block a_i+1 holds the position of a_i, and the trusted side those of the last:
//!  1  i <- the least i for which a_i+1 is in the PLB, or the trusted side has the position of a_i
//!  2  while i > 0:
//!  3      l, position[a_i] <- position[a_i], UniformRandom(0 .. 2^L - 1)
//!  4      readrmv a_i from the tree by the path l, and put it in the PLB
//!  5      append the block that had to leave the PLB to the stash
//!  6      i <- i - 1
//!  7  l, position[a_0] <- position[a_0], UniformRandom(0 .. 2^L - 1)
//!  8  read or write a_0 by the path l
//! ```
//!
//! A block of the PLB is nowhere else. The tree is a [`Backend`]. This is a Path ORAM as in the paper, a RAW ORAM as in
//! Tiny ORAM (FCCM 2015, section V-E), or a Ring ORAM. Its positions [come from
//! outside](crate::position_map::external).
//!
//! A simulated processor drives the lines one by one ([`NextPath`]), and paces the paths itself. As an [`Oram`] it
//! shows as many paths for each access as there are levels: dummies stand in for those that the PLB saves.
//!
//! # Counters instead of positions (section 5)
//!
//! With [`PositionStorage::Counters`] a position is [computed](LeafFunction): PRF_K(a || c) mod 2^L, with the counter c
//! of block a. A PosMap block holds a group counter GC of 64 bits, and an entry of β bits for each of its X' blocks. An
//! entry is a bit s and an individual counter IC. The table on the trusted side holds counters of 64 bits. With β = 14,
//! a block of 64 bytes counts for 32 blocks, where it has room for 16 positions.
//!
//! ```text
//! c is 0, never mapped, if IC = 0; else GC' * 2^(β-1) + IC, with GC' = GC if s = GC mod 2, and GC - 1 for a straggler
//! to give a block a new counter, and so a new position (lines 3 and 7):
//!  9  if IC = 0, or it is a straggler:  s, IC <- GC mod 2, 1
//! 10  else if IC + 1 < 2^(β-1):         IC <- IC + 1
//! 11  else if there is a straggler:     refuse, until it has moved
//! 12  else:  GC <- GC + 1;  s, IC <- GC mod 2, 1;  all other blocks of the group are stragglers now
//! remap turn of a group, before lines 3 and 7:
//! 13  a <- its first straggler;  give a a new counter
//! 14  if a is neither in the PLB nor taken out:  access a by its old path
//! ```
//!
//! The paper remaps a group at once, by X' paths; how many an access then shows depends on secrets. Here a group is
//! remapped a straggler at a time. An access has **one remap turn**: a path for a straggler, or a dummy. The turn
//! belongs to a level of PosMap blocks that is drawn. If that group has no straggler, it belongs to the group of the
//! lowest level. [`min_bits`](FreecursiveParameters::min_bits) are enough for all stragglers to have moved when IC is
//! used up again, except with a probability below 2^-80 for each group remap. Should it happen, the others move at
//! once, and count as [emergencies](Oram::emergencies). No block ever gets a counter twice.
//!
//! A caller that drives the lines calls [`remap_straggler`](FreecursiveOram::remap_straggler) before each line. Every
//! group has its remap turn then, and 2^(β-1) - 1 of at least X' - 1 suffice for certain. Without remap turns, line 11
//! ends in [`OramError::Backlogged`].
//!
//! # Tags (PMMAC, section 6)
//!
//! With `tags` each block of the tree has a [tag](Tags) of 128 bits behind its payload d:
//!
//! ```text
//! to access or to fetch block a, whose counter was c and is c' from now on:
//! 15  (d, h) <- a by its path;  if c > 0 and h is not MAC_K(d || a || c):  refuse for good
//! 16  serve d;  h <- MAC_K(d || a || c');  a PosMap block gets its tag when it leaves the PLB
//! ```
//!
//! The counters of the last level are on the trusted side, and a PosMap block is checked when it comes into the PLB. So
//! each counter that is used is the one that was written last, and with it no older block fits. A block of interest
//! that was changed, exchanged, replayed or dropped ends in [`OramError::Contradiction`], and everything after it in
//! [`OramError::Poisoned`]: no answer is wrong. **What is not detected**, as in the paper: changes of other blocks of a
//! path, until one of them is the block of interest. Nor are changes of headers, except for the block and leaf of a
//! block of interest. Nor is junk that fills the stash. Contents are not hidden. And the moment when it refuses tells a
//! store that lies which block was of interest. A layer below that seals whole buckets prevents both.
//!
//! The bound is for q tags over payloads of ℓ blocks of AES. Suppose that AES cannot be told from a random permutation.
//! Then a forgery in v attempts succeeds with a probability of at most about 5·(ℓ + 1)·q²/2^128 + v/2^128. That is
//! 2^-29 after 2^47 accesses with 64 bytes. The paper's tags have 80 bits.
//!
//! **What the trace shows** (adversary `Full`). A batch of n accesses shows n·H paths one after the other, with H =
//! [`paths_per_access`](FreecursiveParameters::paths_per_access). All pending steps of the tree are done before the
//! next path is read. Path ORAM writes the path back; RAW ORAM writes only its headers back. In RAW and Ring ORAM,
//! evictions follow the count of paths. In Ring ORAM, reshuffles follow the count of reads of a bucket. So what else
//! shows follows from the paths. All are independent and uniform, if [every path is read](TrustedHits::ReadThePath);
//! with the other options they are not. Computed positions are as good as the PRF. If a caller drives the scheme line
//! by line, the number of paths shows what the PLB held and which groups have stragglers. The caller must hide that,
//! with paths at a fixed rate. Evictions because the stash is too full show, as they do without a front end.
//!
//! **Costs** of an access: H times those of a batch of one access over the tree. The last one is off-line to the same
//! extent. Over Path ORAM that is H round trips of a path each, and as many for writing them back. RAW ORAM writes only
//! headers back. In Ring ORAM a path is one slot of each bucket. Both have an eviction every A paths. H is the number
//! of levels, and one more with counters. Driven line by line, group remaps take at most X' - 1 paths in 2^(β-1) - 1
//! accesses to a group: 0.4 % with β = 14. A path computes two positions, of one block of AES each, and two tags of
//! ℓ + 1.
//!
//! **Errors**: those of [`OramError`], as in Path ORAM, and those above.

mod address_space;
mod backend;
mod counters;
mod labels;
mod leaves;
mod look_ahead;
mod next_path;
mod parameters;
mod pmmac;
mod remap;
mod reservation;
mod steps;

pub use address_space::{AddressSpace, PositionEntry};
pub use backend::Backend;
pub use leaves::LeafFunction;
pub use next_path::NextPath;
pub use parameters::{
    BackendParameters, FreecursiveParameters, FreecursiveParametersError, PositionStorage, TrustedHits,
};
pub use pmmac::{TAG_BYTES, Tags};
pub use reservation::Reservation;

use crate::concurrency::fifo_lock::FifoLock;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::position_map::flat::Positions;
use crate::position_map::look_aside::LookAside;
use crate::schemes::ring::FilledRing;
use crate::store::Store;
use crate::types::{BlockId, Bucket};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use counters::Groups;
use labels::{Counted, Labels};
use rand_core::{RngCore, SeedableRng};
use zeroize::Zeroizing;

/// A Freecursive ORAM over a store and randomness of the caller's choice.
pub struct FreecursiveOram<S: Store, R> {
    parameters: FreecursiveParameters,
    space: AddressSpace,
    tree: Backend<S, R>,
    lock: FifoLock,
    poison_flag: PoisonFlag,
    /// The tags of blocks, if they have any.
    tags: Option<Tags>,
    /// The paths of group remaps outside of the schedule.
    emergencies: Cell<u64>,
    state: RefCell<State<R>>,
}

struct State<R> {
    random: R,
    look_aside: LookAside,
    labels: Labels,
    /// A PosMap block on its way from the tree into the buffer.
    fetched: Vec<u8>,
}

impl<S: Store, R: RngCore + SeedableRng> FreecursiveOram<S, R> {
    /// An empty Freecursive ORAM over a store that was never written. Its buckets are numbered from `first_bucket`,
    /// which is 0 over Ring ORAM.
    ///
    /// # Errors
    /// [`FreecursiveParametersError`].
    pub fn new(
        parameters: FreecursiveParameters,
        first_bucket: Bucket,
        store: S,
        random: R,
    ) -> Result<Self, FreecursiveParametersError> {
        parameters.validate()?;
        let tree = |parameters: &_, random| Backend::new(parameters, first_bucket, store, random);
        Self::over(parameters, None, tree, random)
    }

    /// Does the same as [`new`](Self::new), but accepts counters with too few bits. Then group remaps are visible, and
    /// count as [emergencies](Oram::emergencies).
    ///
    /// # Errors
    /// The errors of [`new`](Self::new), except [`FreecursiveParametersError::CounterBits`].
    #[cfg(any(test, feature = "testing"))]
    pub fn with_any_bits(
        parameters: FreecursiveParameters,
        first_bucket: Bucket,
        store: S,
        random: R,
    ) -> Result<Self, FreecursiveParametersError> {
        let tree = |parameters: &_, random| Backend::new(parameters, first_bucket, store, random);
        Self::over(parameters, None, tree, random)
    }

    /// A Freecursive ORAM over a store that a simulation has filled: with blocks on the paths to these positions. It
    /// may [put in](Backend::put_in) those that found no bucket. All PosMap blocks are in the tree.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new); [`FreecursiveParametersError::Positions`], if there is not one for each block,
    /// in a separate table; [`FreecursiveParametersError::Filled`] over Ring ORAM, whose metadata
    /// [`over_filled_ring`](Self::over_filled_ring) takes.
    pub fn over_filled_store(
        parameters: FreecursiveParameters,
        positions: Positions,
        first_bucket: Bucket,
        store: S,
        random: R,
    ) -> Result<Self, FreecursiveParametersError> {
        if matches!(parameters.tree, BackendParameters::Ring(_)) {
            return Err(FreecursiveParametersError::Filled);
        }
        let tree = |parameters: &_, random| Backend::new(parameters, first_bucket, store, random);
        Self::with_positions(parameters, positions, tree, random)
    }

    /// Does the same as [`over_filled_store`](Self::over_filled_store) over Ring ORAM. The blocks of the stash are not
    /// taken: the caller that filled the store [puts them in](Backend::put_in).
    ///
    /// # Errors
    /// The errors of [`over_filled_store`](Self::over_filled_store); [`FreecursiveParametersError::Filled`] over
    /// another scheme.
    pub fn over_filled_ring(
        parameters: FreecursiveParameters,
        mut filled: FilledRing,
        store: S,
        random: R,
    ) -> Result<Self, FreecursiveParametersError> {
        let positions = filled.take_positions();
        let tree = |parameters: &_, random| Backend::over_filled_ring(parameters, filled, store, random);
        Self::with_positions(parameters, positions, tree, random)
    }

    fn with_positions(
        parameters: FreecursiveParameters,
        positions: Positions,
        tree: impl FnOnce(&BackendParameters, R) -> Result<Backend<S, R>, FreecursiveParametersError>,
        random: R,
    ) -> Result<Self, FreecursiveParametersError> {
        let (given, needed) = (positions.blocks(), parameters.address_space().blocks());
        if parameters.positions != PositionStorage::Separate || given != needed {
            return Err(FreecursiveParametersError::Positions { given, needed });
        }
        parameters.validate()?;
        Self::over(parameters, Some(positions), tree, random)
    }

    fn over(
        parameters: FreecursiveParameters,
        positions: Option<Positions>,
        tree: impl FnOnce(&BackendParameters, R) -> Result<Backend<S, R>, FreecursiveParametersError>,
        mut random: R,
    ) -> Result<Self, FreecursiveParametersError> {
        parameters.validate_but_bits()?;
        let space = parameters.address_space();
        let for_tree = R::from_rng(&mut random);
        let tree = tree(&parameters.tree, for_tree)?;
        let block_bytes = parameters.tree.block_bytes();
        let labels = match (parameters.positions, positions) {
            (PositionStorage::Separate, positions) => {
                Labels::Separate(positions.unwrap_or_else(|| Positions::new(space.blocks())))
            }
            (PositionStorage::InBlocks, _) => Labels::InBlocks(Positions::new(space.trusted())),
            (PositionStorage::Counters { bits, .. }, _) => {
                let (groups, leaves) = (Groups::new(parameters.labels, bits), tree.geometry().leaves());
                let leaves = LeafFunction::new(&draw_key(&mut random), leaves);
                Labels::Counted(Box::new(Counted::new(groups, leaves, space.trusted())))
            }
        };
        let tags = parameters.has_tags().then(|| Tags::new(&draw_key(&mut random)));
        let lines = (parameters.look_aside, parameters.look_aside_ways);
        let state = State {
            random,
            look_aside: LookAside::new(lines, block_bytes, tags.is_some()),
            labels,
            fetched: vec![0; block_bytes as usize],
        };
        Ok(FreecursiveOram {
            parameters,
            space,
            tree,
            lock: FifoLock::default(),
            poison_flag: PoisonFlag::default(),
            tags,
            emergencies: Cell::new(0),
            state: RefCell::new(state),
        })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &FreecursiveParameters {
        &self.parameters
    }

    /// Returns the positions, if they are in a separate table: for simulations that begin with a filled tree. There are
    /// no positions together with counters.
    pub fn into_positions(self) -> Option<Positions> {
        self.state.into_inner().labels.into_positions()
    }

    /// The unified address space.
    pub fn address_space(&self) -> &AddressSpace {
        &self.space
    }

    /// Returns the backend: the tree of blocks and PosMap blocks.
    pub fn tree(&self) -> &Backend<S, R> {
        &self.tree
    }

    /// Returns the number of bytes on the trusted side.
    pub fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        self.tree.trusted_bytes() + state.look_aside.bytes() + state.labels.bytes()
    }

    /// Serves one access with as many paths as every other.
    async fn serve(&self, access: &mut Access<'_>, is_first: bool) -> Result<(), OramError<S::Error>> {
        let (mut wanted, mut turn) = (access.block(), self.draw_turn());
        for nth in 0..self.parameters.paths_per_access() {
            if nth > 0 || !is_first {
                self.settle().await?;
            }
            let Some(block) = wanted else {
                self.tree.dummy().await?;
                continue;
            };
            if self.answer(block, |payload| access.serve(payload))?.is_some() {
                wanted = None;
                self.tree.dummy().await?;
                continue;
            }
            let next = self.next(block)?;
            let renewed = if let NextPath::PosMap(missing) = next { missing } else { block };
            if self.take_turn(&mut turn, renewed).await? {
                continue;
            }
            self.remap_all_stragglers(renewed).await?;
            match next {
                NextPath::PosMap(missing) => self.fetch(missing).await?,
                NextPath::Block => {
                    self.access_block(block, |payload| access.serve(payload)).await?;
                    wanted = None;
                }
            }
        }
        Ok(())
    }

    /// Writes the last path back, and makes room in the stash.
    async fn settle(&self) -> Result<(), OramError<S::Error>> {
        while self.tree.pending_steps() > 0 {
            self.tree.step().await?;
        }
        Ok(())
    }
}

impl<S: Store, R: RngCore + SeedableRng> Oram for FreecursiveOram<S, R> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        let FreecursiveParameters { capacity, max_batch, .. } = self.parameters;
        Bounds::new(capacity, self.parameters.user_bytes(), max_batch)
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        admission::check_batch(batch, self.bounds())?;
        let _guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        if !batch.is_empty() && self.must_step() {
            return Err(OramError::Backlogged);
        }
        let operation = self.poison_flag.begin();
        for (nth, access) in batch.iter_mut().enumerate() {
            self.serve(access, nth == 0).await?;
        }
        operation.complete();
        Ok(())
    }

    fn pending_steps(&self) -> u64 {
        self.tree.pending_steps()
    }

    fn must_step(&self) -> bool {
        self.tree.must_step()
    }

    async fn step(&self) -> Result<(), OramError<S::Error>> {
        self.poison_flag.check()?;
        let operation = self.poison_flag.begin();
        self.tree.step().await?;
        operation.complete();
        Ok(())
    }

    fn emergencies(&self) -> u64 {
        self.tree.emergencies() + self.emergencies.get()
    }
}

/// A key that is overwritten when it is dropped.
fn draw_key(random: &mut impl RngCore) -> Zeroizing<[u8; 16]> {
    let mut key = Zeroizing::new([0; 16]);
    random.fill_bytes(&mut *key);
    key
}

/// Refuses a block that is not a block of the user.
fn check_block<E: core::error::Error + 'static>(block: BlockId, capacity: u64) -> Result<(), OramError<E>> {
    if block.0 < capacity { Ok(()) } else { Err(OramError::OutOfRange { block, capacity }) }
}
