//! Circuit ORAM: Wang, Chan, Shi, "Circuit ORAM: On Tightness of the Goldreich-Ostrovsky Lower Bound", CCS 2015,
//! section 3. The eviction is the paper's deterministic one: two paths after each access, in reverse lexicographic
//! order.
//!
//! ```text
//! Access(a, op, data*)
//!     x <- position[a];  position[a] <- UniformRandom(0 .. 2^L - 1)
//!     data <- ReadAndRm(a, P(x));  if op = write:  data <- data*
//!     stash <- stash u {(a, position[a], data)};  Evict(), Evict()
//! PrepareDeepest(path)                                                                          Algorithm 2
//!     src <- none, goal <- none;  if the stash is not empty:  src <- 0, goal <- deepest level of its blocks
//!     for i in 1, 2, .., L + 1:  if goal >= i:  deepest[i] <- src
//!         l <- deepest level of the blocks in path[i];  if l > goal:  goal <- l, src <- i
//! PrepareTarget(path)                                                                           Algorithm 3
//!     dest <- none, src <- none
//!     for i in L + 1, L, .., 0:
//!         if i = src:  target[i] <- dest;  dest <- none, src <- none
//!         if (dest = none and path[i] has an empty slot, or target[i] != none) and deepest[i] != none:
//!             src <- deepest[i], dest <- i
//! EvictOnceFast(path)                                                                           Algorithm 4
//!     PrepareDeepest(path);  PrepareTarget(path);  hold <- none, dest <- none
//!     for i in 0, 1, .., L + 1:
//!         if hold != none and i = dest:  towrite <- hold;  hold <- none, dest <- none
//!         if target[i] != none:  hold <- read and remove the deepest block of path[i];  dest <- target[i]
//!         place towrite into path[i]
//! ```
//!
//! `path[0]` is the stash with all blocks that belong above level `top` (see [`Stash`]), and `path[1]` is the bucket of
//! level `top`. Blocks go down one at a time: that makes a small circuit. Here the trusted side computes in the clear,
//! but the small stash over buckets of two stays. The reading up to the answer is on-line work
//! ([`access`](Oram::access)), and the evictions are off-line work ([`step`](Oram::step)). In between the path is
//! **held** on the trusted side.
//!
//! **What the trace shows** (adversary `Full`). A batch of n accesses reads, in one operation, the buckets of n paths
//! that are not held. The paths are independent and uniform, as in Path ORAM. `step` reads those buckets of the next
//! paths that are not held, two paths for each access, in one operation. Then it writes all held buckets in one
//! operation. Accesses and steps wait for one another. The filling of the stash shows only by an
//! [emergency](Oram::emergencies).
//!
//! **Costs** of a batch of n, with K = L + 1 - top buckets of one slot on each path. On-line: one round trip of at most
//! n·K slots. Off-line: one that reads at most 2n·K slots, and one that writes at most 3n·K. **Parameters**:
//! [`CircuitParameters`].
//!
//! **Errors**: those of [`OramError`], never `StashFull`. After any but a refusal, and after a future that was dropped
//! half-way, it answers [`OramError::Poisoned`] only.

pub(crate) mod eviction;
pub(crate) mod held_path;
#[cfg(feature = "inspect")]
mod inspect;
mod parameters;
mod snapshot;

pub use parameters::CircuitParameters;
pub use snapshot::{CircuitSnapshot, CircuitSnapshotError};

use crate::concurrency::exclusive::Exclusive;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::permutation::sampling;
use crate::position_map::{Lookup, PositionMap};
use crate::stash::Stash;
use crate::store::Store;
use crate::tree::bucket_buffer::BucketBuffer;
use crate::tree::eviction_schedule::{EvictionSchedule, Pace};
use crate::tree::geometry::Geometry;
use crate::types::Leaf;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::mem;
use eviction::Eviction;
use held_path::HeldPath;
use rand_core::RngCore;

/// Two evictions after each access.
const PACE: Pace = Pace { evictions: 2, accesses: 1 };

/// A Circuit ORAM over a store, a position map and randomness of the caller's choice.
pub struct CircuitOram<S, P, R> {
    parameters: CircuitParameters,
    tree: Geometry,
    store: S,
    positions: P,
    exclusive: Exclusive,
    state: RefCell<State<R>>,
}

struct State<R> {
    random: R,
    stash: Stash,
    schedule: EvictionSchedule,
    /// The held buckets and lists. The holder of `exclusive` takes them.
    work: Work,
}

/// The held buckets, and lists that are used again.
#[derive(Default)]
struct Work {
    held: BucketBuffer,
    lookups: Vec<Lookup>,
    paths: Vec<Leaf>,
    eviction: Eviction,
}

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> CircuitOram<S, P, R> {
    /// Does the first line of Access and reads the paths: a random path for a block that is not mapped.
    async fn read_paths(&self, batch: &[Access<'_>], work: &mut Work) -> Result<(), OramError<S::Error>> {
        let Work { held, lookups, paths, .. } = work;
        paths.clear();
        self.state.borrow_mut().schedule.accesses += batch.len() as u64;
        admission::look_up(batch.iter().map(Access::block), lookups, || {
            let random = &mut self.state.borrow_mut().random;
            paths.push(sampling::leaf(random, &self.tree));
            sampling::leaf(random, &self.tree)
        });
        self.positions.remap(lookups).await?;
        admission::find_paths(paths, lookups, &self.tree)?;
        held.read(paths, &self.store, &self.tree, self.parameters.capacity).await
    }

    /// Does ReadAndRm, unless the block is in the stash already, and serves the access with its new leaf.
    fn serve(
        &self,
        access: &mut Access<'_>,
        lookup: &Lookup,
        held: &mut BucketBuffer,
    ) -> Result<(), OramError<S::Error>> {
        let Some(block) = access.block() else { return Ok(()) };
        let stash = &mut self.state.borrow_mut().stash;
        if let (Some(_), Some(leaf), None) = (lookup.block, lookup.old, stash.find(block)) {
            HeldPath { tree: &self.tree, leaf, stash, held }.read_and_rm(block);
        }
        let handle = admission::claim(stash, block, lookup)?;
        admission::serve(access, stash, handle);
        Ok(())
    }

    /// Does Evict this many times: reads the next paths, takes blocks down one after the other, and writes all that is
    /// held.
    async fn evict(&self, evictions: u64) -> Result<(), OramError<S::Error>> {
        let mut work = mem::take(&mut self.state.borrow_mut().work);
        let Work { held, paths, eviction, .. } = &mut work;
        let next = |_| self.state.borrow_mut().schedule.begin(self.tree.leaf_level());
        paths.clear();
        paths.extend((0..evictions).map(next));
        held.read(paths, &self.store, &self.tree, self.parameters.capacity).await?;
        for leaf in paths.iter().copied() {
            let stash = &mut self.state.borrow_mut().stash;
            eviction.evict_once_fast(HeldPath { tree: &self.tree, leaf, stash, held });
        }
        held.write_back(&self.store).await?;
        self.state.borrow_mut().work = work;
        Ok(())
    }

    /// Returns whether the stash has room for a largest batch.
    fn has_room(&self) -> bool {
        let after = self.state.borrow().stash.len() + self.parameters.max_batch as usize;
        after <= self.parameters.stash_bound as usize
    }
}

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> Oram for CircuitOram<S, P, R> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        let serve = async |batch: &mut [Access<'_>]| {
            let mut work = mem::take(&mut self.state.borrow_mut().work);
            self.read_paths(batch, &mut work).await?;
            for (access, lookup) in batch.iter_mut().zip(&work.lookups) {
                self.serve(access, lookup, &mut work.held)?;
            }
            self.state.borrow_mut().work = work;
            Ok(())
        };
        self.exclusive.access(self, batch, serve).await
    }

    /// Returns 1 while evictions are due or the stash lacks room, and adds the pending steps of the position map.
    fn pending_steps(&self) -> u64 {
        let is_due = self.state.borrow().schedule.behind(PACE) > 0;
        u64::from(is_due || !self.has_room()) + self.positions.pending_steps()
    }

    /// True after a largest batch's worth of accesses, and while the next batch might not fit the stash.
    fn must_step(&self) -> bool {
        let due = self.state.borrow().schedule.behind(PACE);
        due >= 2 * u64::from(self.parameters.max_batch) || !self.has_room() || self.positions.must_step()
    }

    /// Does all evictions that are due. If none is due, does one to make room, or a step of the position map.
    async fn step(&self) -> Result<(), OramError<S::Error>> {
        let work = async || {
            let due = self.state.borrow().schedule.behind(PACE);
            let emergency = u64::from(due == 0 && !self.has_room());
            self.state.borrow_mut().schedule.emergencies += emergency;
            match due + emergency {
                0 => self.positions.step().await,
                evictions => self.evict(evictions).await,
            }
        };
        self.exclusive.step(work).await
    }

    fn emergencies(&self) -> u64 {
        self.state.borrow().schedule.emergencies
    }
}
